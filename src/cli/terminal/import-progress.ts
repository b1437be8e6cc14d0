/**
 * The progress of an import, on standard error: a bar on a terminal, otherwise a line every few
 * seconds (decision 32).
 */
import type { ImportProgress } from '../../ingest/progress.ts';
import { remark, renderCell } from './output.ts';

const LINE_EVERY_MS = 5000;

export interface ProgressDisplay {
  show(progress: ImportProgress): void;
  end(): void;
}

export async function openProgressDisplay(): Promise<ProgressDisplay> {
  return process.stderr.isTTY ? await openBar() : openLines();
}

async function openBar(): Promise<ProgressDisplay> {
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: '{bar} {percentage}%  {records} records  {rate}/s  {remaining}  {file}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
  });
  const startMs = performance.now();
  let started = false;
  return {
    show(progress) {
      const fields = describeProgress(progress, performance.now() - startMs);
      if (!started) bar.start(100, 0, fields);
      started = true;
      bar.update(shareOf(progress) * 100, fields);
    },
    end: () => bar.stop(),
  };
}

function openLines(): ProgressDisplay {
  const startMs = performance.now();
  let lastMs = startMs;
  let isRead = false;
  return {
    show(progress) {
      const nowMs = performance.now();
      // A long import says at once that everything has been read.
      const isNewlyRead = !isRead && shareOf(progress) === 1 && lastMs > startMs;
      if (!isNewlyRead && nowMs - lastMs < LINE_EVERY_MS) return;
      isRead = shareOf(progress) === 1;
      lastMs = nowMs;
      const { file, records, rate, remaining } = describeProgress(progress, nowMs - startMs);
      const percent = Math.floor(shareOf(progress) * 100);
      remark(`${percent} %, ${records} records, ${rate}/s, ${remaining}, reading ${file}`);
    },
    end: () => {},
  };
}

function describeProgress(progress: ImportProgress, elapsedMs: number) {
  const share = shareOf(progress);
  return {
    file: renderCell(progress.file),
    records: progress.records.toLocaleString('en'),
    rate: Math.round((progress.records * 1000) / Math.max(elapsedMs, 1)).toLocaleString('en'),
    remaining: describeRemaining(share, elapsedMs),
  };
}

function describeRemaining(share: number, elapsedMs: number): string {
  // The length of standard input is unknown.
  if (share === 0) return 'time left unknown';
  if (share === 1) return 'checking and publishing';
  return `${Math.ceil((elapsedMs * (1 - share)) / share / 1000)} s left`;
}

function shareOf({ bytesRead, bytesTotal }: ImportProgress): number {
  return bytesTotal === undefined || bytesTotal === 0 ? 0 : Math.min(1, bytesRead / bytesTotal);
}
