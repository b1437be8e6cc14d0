/** The time from the start of a server to its first response, and its memory after that. */
import { askOnce, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { startCorkboard } from '../corkboard.ts';
import { settledPss } from '../memory.ts';
import { median } from '../statistics.ts';
import { bytes, duration } from '../table.ts';

export async function measureStart(ground: Ground, plan: Plan): Promise<void> {
  const { report, signal } = plan;
  report.say(`${ground.title}: start-up`);
  const firstAnswerMs: number[] = [];
  const listeningMs: number[] = [];
  for (let round = 0; round < Math.min(isLarge(ground) ? 2 : 3, plan.rounds); round++) {
    const startMs = performance.now();
    await using server = await startCorkboard(ground.dataDir, signal);
    const product = { name: 'corkboard', port: server.port, headers: { apikey: ground.key } } as const;
    await askOnce({ product, firstPath: ground.firstPath }, signal);
    firstAnswerMs.push(performance.now() - startMs);
    listeningMs.push(server.listeningMs);
  }
  await using bed = await openBed(ground, signal);
  const rest = await settledPss([bed.server.pid]);
  const answer = median(firstAnswerMs);
  const { events } = ground.community;
  report.addRow(
    'start',
    ...[ground.title, duration(answer), duration((answer / events) * 1e6), duration(median(listeningMs))],
    ...[bytes(rest), bytes(rest && rest / events)],
  );
  report.setFigure(`${ground.title}/start/ms`, answer);
}
