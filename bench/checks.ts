/** Checks whole files: counts their events, and decodes them with external decoders. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { decodeInBrowser, findBrowser } from './browser.ts';
import { download } from './curl.ts';
import { hasProgram, run } from './processes.ts';
import type { Report } from './report.ts';
import type { Target } from './site.ts';

/** Occurs once in every event, and never inside a string, where its quotes would be escaped. */
const EVENT_MARK = Buffer.from('"timestamp":"');
const READ_BYTES = 1024 * 1024;

export interface Content {
  readonly digest: string;
  readonly events: number;
}

/** SHA-256 and number of events of an export as JSON or NDJSON. */
async function readContent(stream: Readable): Promise<Content> {
  const hash = createHash('sha256');
  let events = 0;
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk);
    const seam = Buffer.concat([tail, chunk.subarray(0, EVENT_MARK.length - 1)]);
    events += count(seam) + count(chunk);
    tail = Buffer.from(
      Buffer.concat([tail, chunk.subarray(-EVENT_MARK.length)]).subarray(1 - EVENT_MARK.length),
    );
  }
  return { digest: hash.digest('hex'), events };
}

export function readFileContent(file: string): Promise<Content> {
  return readContent(createReadStream(file, { highWaterMark: READ_BYTES }));
}

/** The same of the response to a GET, whose size can exceed the disk. Throws if curl fails. */
export async function readResponseContent(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Content> {
  const words = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const content = await decode('curl', ['--silent', '--show-error', '--fail', ...words, url]);
  if (content === undefined) throw new Error(`curl could not read ${url}.`);
  return content;
}

/** Decompresses a body with `gzip`, `zstd`, Python and curl, and compares it with the plain one. */
export async function checkCompressed(
  data: string,
  encoding: 'gzip' | 'zstd',
  file: string,
  plain: Content,
  report: Report,
  again: {
    readonly product: Target;
    readonly path: string;
    readonly thorough: boolean;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const decoders =
    encoding === 'gzip'
      ? [['gzip', ['-dc', file]], ...(again.thorough ? [['python3', ['-c', PYTHON, file]] as const] : [])]
      : [['zstd', ['-dc', file]]];
  if (hasProgram(encoding) && again.thorough) {
    const tested = await run(encoding, ['-t', '-q', file]).then(
      () => true,
      () => false,
    );
    report.check(data, `${encoding} -t of the ${encoding} export`, tested);
  }
  for (const [program, args] of decoders as [string, string[]][]) {
    if (!hasProgram(program)) {
      report.remark(`${program} is not installed: not tried as a decoder.`);
      continue;
    }
    const same = (await decode(program, args))?.digest === plain.digest;
    report.check(data, `${program} makes the plain export of the ${encoding} one`, same);
  }
  if (!again.thorough) return;
  const url = `http://127.0.0.1:${again.product.port}${again.path}`;
  const headers = { ...again.product.headers, 'accept-encoding': encoding };
  const decoded = `${file}.decoded`;
  // The file need not be removed: its folder is removed with the scenario.
  await download({ url, headers, file: decoded, decode: true, signal: again.signal });
  report.check(
    data,
    `curl --compressed makes the plain export of the ${encoding} one`,
    (await readFileContent(decoded)).digest === plain.digest,
  );
  await checkInBrowser(data, encoding, file, plain, report, again.signal);
}

async function checkInBrowser(
  data: string,
  encoding: 'gzip' | 'zstd',
  file: string,
  plain: Content,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const program = findBrowser();
  if (program === undefined) return report.remark('No Chromium is installed: not tried as a decoder.');
  await using browser = await decodeInBrowser(program, encoding, file, signal);
  const content = await readContent(browser.decoded).catch((error: Error) => report.remark(error.message));
  report.check(
    data,
    `${program} makes the plain export of the ${encoding} one`,
    content?.digest === plain.digest,
  );
}

const PYTHON =
  'import gzip,shutil,sys; shutil.copyfileobj(gzip.open(sys.argv[1]), sys.stdout.buffer, 1 << 20)';

/** The content of what a program writes; undefined if the program fails. */
async function decode(program: string, args: readonly string[]): Promise<Content | undefined> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  const content = await readContent(child.stdout);
  const [code] = await ended;
  return code === 0 ? content : undefined;
}

function count(bytes: Buffer): number {
  let found = 0;
  for (let at = bytes.indexOf(EVENT_MARK); at >= 0; at = bytes.indexOf(EVENT_MARK, at + 1)) found++;
  return found;
}
