/**
 * The time from the start of a server to its first response, from the version and from its memory
 * image, and its memory after that.
 */
import { setTimeout } from 'node:timers/promises';
import { askOnce, fileBytes, type Ground, isLarge, openBed, type Plan } from '../bed.ts';
import { startCorkboard } from '../corkboard.ts';
import { settledPss } from '../memory.ts';
import { askForFragments } from '../rest.ts';
import { median } from '../statistics.ts';
import { bytes, duration } from '../table.ts';

/** A server writes it within a minute and a half, which writing takes longer for large versions. */
const IMAGE_MS = 240_000;
const LEAST_EVENTS = 200_000;
/** Smaller data have too few fragments to be kept. */
const LEAST_EVENTS_FOR_FRAGMENTS = 1_000_000;

export async function measureStart(ground: Ground, plan: Plan): Promise<void> {
  const { report, signal } = plan;
  report.say(`${ground.title}: start-up`);
  const fromVersion = await startOften(ground, plan);
  const fromImage = (await waitForImage(ground, signal)) ? await startOften(ground, plan) : undefined;
  await using bed = await openBed(ground, signal);
  const rest = await settledPss([bed.server.pid]);
  const { answerMs, listeningMs } = fromVersion;
  const { events } = ground.community;
  report.addRow(
    'start',
    ...[ground.title, duration(answerMs), duration((answerMs / events) * 1e6), duration(listeningMs)],
    ...(fromImage === undefined
      ? ['', '']
      : [duration(fromImage.answerMs), bytes(fileBytes(ground, 'image'))]),
    ...[bytes(rest), bytes(rest && rest / events)],
  );
  report.setFigure(`${ground.title}/start/ms`, answerMs);
  report.setFigure(`${ground.title}/start/rest/bytes`, rest);
  report.setFigure(`${ground.title}/start/image/bytes`, fileBytes(ground, 'image'));
  if (fromImage !== undefined) report.setFigure(`${ground.title}/start again/ms`, fromImage.answerMs);
}

async function startOften(ground: Ground, { rounds, signal }: Plan) {
  const answersMs: number[] = [];
  const listeningMs: number[] = [];
  for (let round = 0; round < Math.min(isLarge(ground) ? 2 : 3, rounds); round++) {
    const startMs = performance.now();
    await using server = await startCorkboard(ground.dataDir, signal);
    const product = { name: 'corkboard', port: server.port, headers: { apikey: ground.key } } as const;
    await askOnce({ product, firstPath: ground.firstPath }, signal);
    answersMs.push(performance.now() - startMs);
    listeningMs.push(server.listeningMs);
  }
  return { answerMs: median(answersMs), listeningMs: median(listeningMs) };
}

/** Uses the version until it has its images; returns false if it gets none, being small. */
async function waitForImage(ground: Ground, signal: AbortSignal): Promise<boolean> {
  if (ground.community.events < LEAST_EVENTS) return false;
  await using bed = await openBed(ground, signal);
  await askForFragments(bed, signal);
  const hasFragments = ground.community.events >= LEAST_EVENTS_FOR_FRAGMENTS;
  const expected = ['image', ...(hasFragments ? ['image.fragments' as const] : [])] as const;
  const startMs = performance.now();
  while (performance.now() - startMs < IMAGE_MS) {
    if (expected.every((extension) => fileBytes(ground, extension) !== undefined)) return true;
    await setTimeout(1_000, undefined, { signal });
  }
  return false;
}
