/**
 * Mixed load with a publication every few seconds. Checks that there is no error, no response that
 * is cut short or mixes versions, no growth of memory, and at the end one open version per process.
 */
import { mkdir } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Ground, prepareGround } from '../bed.ts';
import { communityOf, writeCommunity } from '../community.ts';
import { importFiles, makeKey, startCorkboard } from '../corkboard.ts';
import { readProcessTree, readPss } from '../memory.ts';
import type { Report } from '../report.ts';
import { percentile } from '../statistics.ts';
import { bytes, duration } from '../table.ts';
import { type Marks, marksOf, writeBatch } from './batches.ts';
import { Consistency } from './consistency.ts';
import { type LoopFigures, startLoad } from './load.ts';
import { judgeMemory, type MemorySample } from './memory-trend.ts';
import { read } from './reading.ts';

const EVENTS = 30_000;
const PUBLISH_EVERY_MS = 4_000;
const SAMPLE_EVERY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 30_000;

export interface Soak {
  readonly minutes: number;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly report: Report;
}

export async function runSoak({ minutes, folder, signal, report }: Soak): Promise<void> {
  const community = communityOf(EVENTS);
  const marks = marksOf(community);
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, community);
  const { ground } = await prepareGround(
    { title: 'soak', community, folder, firstPath: '' },
    [bundle],
    signal,
  );
  const keys = {
    full: ground.key,
    scoped: await makeKey(ground.dataDir, signal, ['--boards', marks.boards.slice(0, 2).join(',')]),
    redacting: await makeKey(ground.dataDir, signal, ['--redact', 'email,name']),
  };
  await using server = await startCorkboard(ground.dataDir, signal, { logFile: join(folder, 'server.log') });
  const consistency = new Consistency(EVENTS, marks);
  report.say(`Soak of ${minutes} minutes: mixed load, a publication every ${PUBLISH_EVERY_MS / 1000} s.`);
  const startMs = performance.now();
  const controller = new AbortController();
  const ending = AbortSignal.any([signal, controller.signal]);
  const load = startLoad(server.port, keys, marks, consistency, ending);
  const samples: MemorySample[] = [];
  const sampling = sampleMemory(server.pid, startMs, samples, ending);
  const published = await publish(ground, marks, startMs + minutes * 60_000, report, signal);
  controller.abort();
  await Promise.all([load.ended, sampling]);

  addRows(report, load.figures);
  for (const failure of load.failures) report.remark(failure);
  const data = 'soak';
  const shown = await untilShown(server.port, ground.key, marks, published, signal);
  report.check(data, `all of ${published} publications are taken up`, shown && published > 0);
  report.check(data, 'no error, no cut answer, none that mixes versions', load.failures.length === 0);
  const { holds, sentence } = judgeMemory(samples);
  report.check(data, sentence, holds);
  const processes = Math.max(1, readProcessTree(server.pid).length - 1);
  const open = await untilClosed(server.port, processes, signal);
  report.check(
    data,
    `open versions in the end: ${open} in ${processes} processes`,
    open >= 1 && open <= processes,
  );
  process.stdout.write(`\n# Soak of ${minutes} minutes\n\n${report.render()}`);
}

/** Publishes batches until the time is over; returns their number. Throws if an import fails. */
async function publish(
  ground: Ground,
  marks: Marks,
  endMs: number,
  report: Report,
  signal: AbortSignal,
): Promise<number> {
  let batch = 0;
  while (performance.now() + PUBLISH_EVERY_MS < endMs && !signal.aborted) {
    const nextMs = performance.now() + PUBLISH_EVERY_MS;
    const file = join(ground.folder, 'events-batch.csv');
    await writeBatch(file, ++batch, ground.community, marks);
    await importFiles([file], ground.dataDir, signal);
    if (batch % 15 === 0) report.say(`${batch} publications`);
    await pause(Math.max(0, nextMs - performance.now()), undefined, { signal });
  }
  await pause(Math.max(0, endMs - performance.now()), undefined, { signal });
  return batch;
}

async function sampleMemory(
  pid: number,
  startMs: number,
  samples: MemorySample[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const pss = readPss(readProcessTree(pid));
    if (pss !== undefined) samples.push({ seconds: (performance.now() - startMs) / 1000, bytes: pss });
    await pause(SAMPLE_EVERY_MS);
  }
}

/** Waits until the events of a board show `batches` batches; returns whether they did. */
async function untilShown(
  port: number,
  key: string,
  marks: Marks,
  batches: number,
  signal: AbortSignal,
): Promise<boolean> {
  const agent = new Agent();
  const endMs = performance.now() + CLOSE_TIMEOUT_MS;
  for (;;) {
    const { marks: found } = await read(port, agent, { path: `/a/v1/events/board/${marks.boards[0]}`, key });
    if (found.size === batches) return true;
    if (performance.now() > endMs || signal.aborted) return false;
    await pause(250);
  }
}

/**
 * Waits until old versions are closed, after their last responses have ended; returns the number of
 * open versions.
 */
async function untilClosed(port: number, wanted: number, signal: AbortSignal): Promise<number> {
  const endMs = performance.now() + CLOSE_TIMEOUT_MS;
  for (;;) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { signal })).text();
    const open = [...text.matchAll(/^corkboard_datasets_open(?:\{[^}]*\})? (\d+)/gm)]
      .map((found) => Number(found[1]))
      .reduce((total, value) => total + value, 0);
    if (open <= wanted || performance.now() > endMs) return open;
    await pause(250);
  }
}

function addRows(report: Report, list: readonly LoopFigures[]): void {
  for (const { name, latenciesMs, bytes: total, unchanged } of list) {
    if (latenciesMs.length === 0) continue;
    const ascending = Float64Array.from(latenciesMs).sort();
    const [p50, p99] = [percentile(ascending, 0.5), percentile(ascending, 0.99)];
    report.addRow(
      'soak',
      name,
      `${latenciesMs.length}`,
      `${unchanged}`,
      duration(p50),
      duration(p99),
      bytes(total),
    );
  }
}
