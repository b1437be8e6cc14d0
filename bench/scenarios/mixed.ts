/** Small requests while ten clients export continuously. */
import type { Bed, Plan } from '../bed.ts';
import { download, downloadForever } from '../curl.ts';
import { questionsOf } from '../questions.ts';
import { measureRounds } from '../rounds.ts';
import { Site, type Target } from '../site.ts';
import { duration, rate } from '../table.ts';

const EXPORTS = 10;
const CONNECTIONS = 16;
/** Without a pause, the load shows a saturated server; with a pause, the waiting time of a user. */
const PAUSES_MS = [0, 10];
const SECONDS = 3;

/** `aside`: whether there is room for the export as a file, for the other servers. */
export async function measureMixed(bed: Bed, plan: Plan, aside: boolean): Promise<void> {
  const { report, signal } = plan;
  report.say(`${bed.title}: ten exports, keeping the answers`);
  await using site = await Site.make(`${bed.folder}/mixed`);
  const answers = await site.keepAnswers(
    bed.product,
    questionsOf('board', bed.community),
    plan.differentBytes,
    signal,
  );
  const names = { plain: 'export.json', gzip: 'export.json.gz' } as const;
  const encodings = { plain: 'identity', gzip: 'gzip' } as const;
  for (const kind of ['plain', 'gzip'] as const) {
    if (!aside) continue;
    const headers = { ...bed.product.headers, 'accept-encoding': encodings[kind] };
    const url = `http://127.0.0.1:${bed.product.port}/a/v1/events`;
    await download({ url, headers, file: site.pathOf(names[kind]), signal });
    await site.addFile(names[kind]);
  }
  const others = aside ? await site.open(signal) : [];
  for (const kind of ['plain', 'gzip'] as const) {
    for (const pauseMs of PAUSES_MS) {
      report.say(`${bed.title}: ten exports (${kind}) and small requests, pause ${pauseMs} ms`);
      const next = new Map<Target, number>();
      const outcomes = await measureRounds(
        [bed.product, ...others],
        { count: plan.rounds, warm: plan.quick },
        async (target) => {
          const own = target.name === 'corkboard';
          const headers = { ...target.headers, 'accept-encoding': encodings[kind] };
          const url = `http://127.0.0.1:${target.port}${own ? '/a/v1/events' : `/${names[kind]}`}`;
          await using _exports = downloadForever({ url, headers, signal }, EXPORTS);
          const first = next.get(target) ?? 0;
          const figures = await plan.client.measure({
            ...{ port: target.port, first, headers: target.headers, status: 200, pauseMs },
            paths: answers.map((answer) => (own ? answer.path : answer.sitePath)),
            leastBytes: Math.min(...answers.map((answer) => answer.byteLength)),
            connections: CONNECTIONS,
            seconds: plan.quick ? 1 : SECONDS,
          });
          next.set(target, first + figures.requests);
          return { ...figures };
        },
      );
      const [product, nginx, node] = outcomes.length === 2 ? [outcomes[0], undefined, outcomes[1]] : outcomes;
      const cells = [product, nginx, node].map((one) =>
        one ? `${duration(one.median.p99Ms)} (${duration(one.median.p50Ms)})` : '-',
      );
      const rates = [product, nginx, node].map((one) => rate(one?.median.requestsPerSecond)).join(' / ');
      report.addRow(
        'mixed',
        bed.title,
        kind,
        pauseMs === 0 ? 'without a pause' : `a pause of ${pauseMs} ms`,
        ...cells,
        rates,
      );
      report.setFigure(`${bed.title}/mixed/${kind}/${pauseMs}`, product?.median.p99Ms);
    }
  }
}
