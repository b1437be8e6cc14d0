/** SHA-256 of files, and lists of them in the form of the program `sha256sum`. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const READ_BYTES = 1024 * 1024;

export interface FileDigest {
  readonly bytes: number;
  /** In lower-case hexadecimal digits. */
  readonly sha256: string;
}

/** Reads the whole file. `onBytes` is called with the number of bytes read since its last call. */
export async function digestFile(path: string, onBytes?: (bytes: number) => void): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) {
    hash.update(chunk);
    bytes += chunk.length;
    onBytes?.(chunk.length);
  }
  return { bytes, sha256: hash.digest('hex') };
}

const LINE = /^([0-9a-f]{64}) {2}(.+)$/;

/** Lines for `sha256sum --check`. Paths contain no line ends. */
export function renderDigests(digests: ReadonlyMap<string, string>): string {
  return Array.from(digests, ([path, digest]) => `${digest}  ${path}\n`).join('');
}

/** The digests by path; absent if the text is not exactly as `renderDigests` writes it. */
export function readDigests(text: string): ReadonlyMap<string, string> | undefined {
  const digests = new Map<string, string>();
  for (const line of text.split('\n').slice(0, -1)) {
    const [, digest, path] = LINE.exec(line) ?? [];
    if (digest === undefined || path === undefined) return undefined;
    digests.set(path, digest);
  }
  return renderDigests(digests) === text ? digests : undefined;
}
