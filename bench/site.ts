/**
 * Responses of the product, kept as files, and servers that send these files unchanged: nginx, if
 * installed, and Node. They show the upper limit of the machine.
 */
import { createHash } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { BaselineAnswer } from './baseline.ts';
import { startNginx } from './nginx.ts';
import { ask, startModule } from './processes.ts';

const START_MS = 120_000;
const FETCHES_AT_ONCE = 8;

export interface Target {
  readonly name: 'corkboard' | 'nginx' | 'Node';
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface KeptAnswer {
  /** Path of the request to the product. */
  readonly path: string;
  /** Path of the same bytes on the other servers. */
  readonly sitePath: string;
  readonly byteLength: number;
  readonly digest: string;
}

export class Site implements AsyncDisposable {
  readonly folder: string;
  readonly #files: BaselineAnswer[] = [];
  readonly #stack = new AsyncDisposableStack();

  private constructor(folder: string) {
    this.folder = folder;
    this.#stack.defer(() => rm(folder, { recursive: true, force: true }));
  }

  /** Creates a folder for the site; it is removed at the end, together with the servers. */
  static async make(folder: string): Promise<Site> {
    await mkdir(folder, { recursive: true });
    return new Site(folder);
  }

  /** The path for a file that is then registered with `addFile`. */
  pathOf(name: string): string {
    return join(this.folder, name);
  }

  async addFile(name: string): Promise<void> {
    const file = this.pathOf(name);
    const { size } = await stat(file);
    this.#files.push({ path: `/${name}`, file, byteLength: size, etag: `"${name}-${size}"` });
  }

  /** Requests paths of the product and keeps the bodies, until they have `enoughBytes` in total. */
  async keepAnswers(
    product: Target,
    paths: readonly string[],
    enoughBytes: number,
    signal: AbortSignal,
  ): Promise<KeptAnswer[]> {
    const kept: KeptAnswer[] = [];
    let byteLength = 0;
    let next = 0;
    const keepInTurn = async (): Promise<void> => {
      while (next < paths.length && byteLength < enoughBytes) {
        const index = next++;
        const path = paths[index]!;
        const body = await fetchAnswer(product, path, signal);
        const name = `answer-${index}.json`;
        await writeFile(this.pathOf(name), body);
        await this.addFile(name);
        kept.push({ path, sitePath: `/${name}`, byteLength: body.length, digest: digestOf(body) });
        byteLength += body.length;
      }
    };
    await Promise.all(Array.from({ length: FETCHES_AT_ONCE }, keepInTurn));
    return kept;
  }

  /** Starts the servers over the files added so far. */
  async open(signal: AbortSignal): Promise<Target[]> {
    const targets: Target[] = [];
    const nginx = await startNginx(this.folder, `${this.folder}-nginx`, signal);
    if (nginx) {
      this.#stack.defer(() => rm(`${this.folder}-nginx`, { recursive: true, force: true }));
      this.#stack.use(nginx);
      targets.push({ name: 'nginx', port: nginx.port, headers: {} });
    }
    const node = this.#stack.use(startModule('./baseline.ts', signal));
    targets.push({ name: 'Node', port: await ask<number>(node, this.#files, START_MS), headers: {} });
    return targets;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Whether all servers return exactly the kept bytes. */
export async function sameAnswers(
  targets: readonly Target[],
  answers: readonly KeptAnswer[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const target of targets) {
    for (const answer of answers) {
      const path = target.name === 'corkboard' ? answer.path : answer.sitePath;
      if (digestOf(await fetchAnswer(target, path, signal)) !== answer.digest) return false;
    }
  }
  return true;
}

const FETCHING_PAUSE_MS = 100;

/**
 * The uncompressed body. Waits while the server fetches the data from a shared store. Throws unless
 * the status is 200.
 */
export async function fetchAnswer(target: Target, path: string, signal: AbortSignal): Promise<Buffer> {
  const url = `http://127.0.0.1:${target.port}${path}`;
  const headers = { ...target.headers, 'accept-encoding': 'identity' };
  let response = await fetch(url, { headers, signal });
  while (await isFetching(response)) {
    await pause(FETCHING_PAUSE_MS, undefined, { signal });
    response = await fetch(url, { headers, signal });
  }
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}.`);
  return Buffer.from(await response.arrayBuffer());
}

async function isFetching(response: Response): Promise<boolean> {
  if (response.status !== 503) return false;
  const problem = JSON.parse(await response.text());
  return problem.code === 'chunks-away';
}

function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** The entity tag of a response; empty if it has none. */
export async function readEntityTag(target: Target, path: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${target.port}${path}`, {
    method: 'HEAD',
    headers: { ...target.headers, 'accept-encoding': 'identity' },
    signal,
  });
  return response.headers.get('etag') ?? '';
}
