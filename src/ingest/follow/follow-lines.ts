/**
 * Follows a stream of records, one per line. Every few seconds the lines received are published by
 * one import, all or nothing (decision 57). After each import, a callback reports how much of the
 * stream is published, for the sender.
 */
import { Readable } from 'node:stream';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../../domain/app-error.ts';
import { type ImportOptions, type ImportReport, importBundle } from '../import.ts';
import { STANDARD_INPUT } from '../input/bundle.ts';
import { refuseFile } from '../input/refuse-file.ts';
import { firstLines, LineBatcher, type Lines } from './line-batcher.ts';

export interface FollowOptions extends Omit<ImportOptions, 'paths' | 'stdin' | 'dryRun'> {
  /** Time to collect lines before a publication, and the polling interval of a folder. */
  readonly everyMs: number;
  /** Stops following. Lines received before are published first. */
  readonly stop: AbortSignal;
}

export interface FollowedLines {
  readonly report: ImportReport;
  /** Lines from the beginning of the stream that are published or rejected. */
  readonly lines: number;
  readonly bytes: number;
}

const NDJSON = { format: 'ndjson', compression: 'none' } as const;
/**
 * Lines are passed on in chunks of this size: an overlong line is only recognized if it is longer
 * than a chunk.
 */
const PIECE_BYTES = 65_536;

/**
 * Runs until the stream ends or `stop` is aborted. Without `skipInvalid`, an invalid line ends it
 * with `import-refused` after the lines before it are published; `onRefused` is called before that.
 * Throws like `importBundle`.
 */
export async function followLines(
  stream: Readable,
  options: FollowOptions,
  onPublished: (followed: FollowedLines) => void,
  onRefused: (report: ImportReport) => void,
): Promise<void> {
  const gathering = new Gathering(stream);
  const done = { lines: 0, bytes: 0 };
  const publish = async (lines: Lines): Promise<number | undefined> => {
    if (lines.lines === 0) return undefined;
    const report = await importLines(lines, options, done.lines);
    if (report.outcome !== 'refused') {
      done.lines += lines.lines;
      done.bytes += lines.bytesRead;
      onPublished({ report, ...done });
      return undefined;
    }
    const bad = Math.min(...report.problems.map(({ line }) => line));
    // Earlier lines can be invalid for reasons that this import did not check.
    const earlier = await publish(firstLines(lines, Math.max(0, bad - done.lines - 1)));
    if (earlier === undefined) onRefused(report);
    return earlier ?? bad;
  };
  try {
    for (;;) {
      await gathering.wait(options.everyMs, options.stop);
      const isLast = gathering.hasEnded || options.stop.aborted;
      const bad = await publish(gathering.take());
      if (bad !== undefined) throw refusalOf(bad);
      if (isLast) return;
    }
  } finally {
    stream.destroy();
  }
}

function refusalOf(line: number): AppError {
  const before = line === 1 ? 'nothing was published' : `the ${line - 1} lines before it were published`;
  return new AppError(
    'import-refused',
    `Line ${line} is invalid; ${before}. Correct the line and continue from there, or skip invalid lines with --skip-invalid FILE.`,
  );
}

async function importLines(
  { bytes }: Lines,
  { everyMs: _everyMs, stop: _stop, ...options }: FollowOptions,
  linesBefore: number,
): Promise<ImportReport> {
  return await importBundle({
    ...options,
    paths: [STANDARD_INPUT],
    stdin: Readable.from(piecesOf(bytes)),
    stdinForm: NDJSON,
    linesBefore,
    addsRejects: true,
    mayDropAll: true,
  });
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** Collects lines while others are being published. */
class Gathering {
  hasEnded = false;
  readonly #stream: Readable;
  readonly #lines = new LineBatcher();
  #failure: unknown;
  /** Ends the current `wait`. */
  #wake = new AbortController();

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#lines.add(chunk);
      if (!this.#lines.isFull) return;
      stream.pause();
      this.#wake.abort();
    });
    stream.once('end', () => this.#end());
    stream.once('error', (error) => {
      this.#failure = error;
      this.#wake.abort();
    });
  }

  /**
   * Waits until there are lines to publish and the interval is over, or until nothing more can be
   * waited for. Throws `file-unreadable`.
   */
  async wait(everyMs: number, stop: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stop, this.#wake.signal]);
    while (!signal.aborted) {
      await pause(everyMs, undefined, { signal }).catch(() => {});
      if (!this.#lines.isEmpty) break;
    }
    // Also takes data that the system has already received; a full turn of the event loop reads it.
    if (stop.aborted) for (let turns = 0; turns < 2; turns += 1) await turn();
    if (this.#failure !== undefined) refuseFile(STANDARD_INPUT, this.#failure);
  }

  take(): Lines {
    const lines = this.#lines.take();
    if (!this.hasEnded) {
      this.#wake = new AbortController();
      this.#stream.resume();
    }
    return lines;
  }

  #end(): void {
    this.#lines.end();
    this.hasEnded = true;
    this.#wake.abort();
  }
}
