/**
 * curl as the client for large responses: it discards them or writes a file, and uses little time
 * of the shared cores.
 */
import { run } from './processes.ts';

export interface Download {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A file with the body of a POST in JSON; without one, GET. */
  readonly bodyFile?: string;
  /** File for the body; if absent, the body is discarded. */
  readonly file?: string;
  /** Lets curl decompress the body. */
  readonly decode?: boolean;
  readonly signal: AbortSignal;
}

export interface DownloadFigures {
  readonly bytes: number;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

/** Throws if the status is not 200 or the body is cut short. */
export async function download(request: Download): Promise<DownloadFigures> {
  const headers = Object.entries(request.headers ?? {}).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ]);
  const written = await run(
    'curl',
    [
      ...['--silent', '--show-error', '--output', request.file ?? '/dev/null'],
      ...['--write-out', '%{http_code} %{size_download} %{time_starttransfer} %{time_total}'],
      ...headers,
      ...(request.decode ? ['--compressed'] : []),
      ...(request.bodyFile
        ? ['--data-binary', `@${request.bodyFile}`, '-H', 'content-type: application/json']
        : []),
      request.url,
    ],
    { signal: request.signal },
  );
  const [status, bytes = 0, firstByte = 0, total = 0] = written.split(' ').map(Number);
  if (status !== 200) throw new Error(`${request.url} answered ${status}.`);
  return { bytes, firstByteMs: firstByte * 1000, totalMs: total * 1000 };
}

/**
 * Starts `count` clients that repeat the download until they are disposed of. Every status must be
 * 200; the bodies are not checked.
 */
export function downloadForever(request: Download, count: number): AsyncDisposable & { finished(): number } {
  const controller = new AbortController();
  const signal = AbortSignal.any([request.signal, controller.signal]);
  let finished = 0;
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await download({ ...request, signal });
      finished++;
    }
  };
  const loops = Array.from({ length: count }, () =>
    loop().catch((error: Error) => {
      if (!signal.aborted) return error;
      return undefined;
    }),
  );
  return {
    finished: () => finished,
    async [Symbol.asyncDispose]() {
      controller.abort();
      const failure = (await Promise.all(loops)).find((error) => error !== undefined);
      if (failure) throw failure;
    },
  };
}
