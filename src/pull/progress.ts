/**
 * What a pull has got so far, in a folder of its own: whole files only, and a small file that tells what they are. A
 * pull that is killed at any moment goes on from there.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A walk through pages of events (decision 19). */
export interface Walk {
  /** What it asks for: a token, or `start`. */
  readonly since: string;
  /** Where its next page begins; absent before the first one. */
  readonly cursor: string | undefined;
}

export interface Progress {
  /** Of the server, and a digest of the key: another one may see other things. */
  readonly source: string;
  /** Counts looks at the server; what was got in this one need not be asked for again. */
  round: number;
  /** Files by name: in which round they held, and their entity tag where the server has given one. */
  files: Record<string, { readonly round: number; readonly etag: string | undefined }>;
  /** Whether the server has pages and tokens; absent while that is not known. */
  hasTokens: boolean | undefined;
  /** From where on events are new, once all before have been got. */
  token: string | undefined;
  walk: Walk | undefined;
  /** Pages of events that are not published yet, numbered from 1. */
  pages: number;
  /** Whether anything has been got that is not published yet. */
  isNew: boolean;
}

const FILE = 'progress.json';

export class PullFolder {
  readonly path: string;
  readonly progress: Progress;

  private constructor(path: string, progress: Progress) {
    this.path = path;
    this.progress = progress;
  }

  /** Goes on with what is there of the same source, and removes what is there of another one. */
  static async open(path: string, source: string): Promise<PullFolder> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const known = await readProgress(join(path, FILE));
    if (known?.source === source) return new PullFolder(path, known);
    await rm(path, { recursive: true });
    await mkdir(path, { recursive: true, mode: 0o700 });
    return new PullFolder(path, {
      ...{ source, round: 1, files: {}, hasTokens: undefined, token: undefined, walk: undefined },
      ...{ pages: 0, isNew: false },
    });
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** The pages so far. */
  get pages(): readonly string[] {
    return Array.from({ length: this.progress.pages }, (_, at) => this.file(pageName(at + 1)));
  }

  get nextPage(): string {
    return this.file(pageName(this.progress.pages + 1));
  }

  /** In one step, so that a kill leaves what was before or what is now. */
  async save(): Promise<void> {
    const path = this.file(FILE);
    await writeFile(`${path}.tmp`, JSON.stringify(this.progress), { mode: 0o600 });
    await rename(`${path}.tmp`, path);
  }

  /** What was got is kept, and is asked for again the next time. */
  async lookAgain(): Promise<void> {
    this.progress.round += 1;
    await this.save();
  }

  /** All that has been got is published. */
  async settle(): Promise<void> {
    const { pages, progress } = this;
    progress.pages = 0;
    progress.isNew = false;
    progress.round += 1;
    await this.save();
    for (const page of pages) await rm(page, { force: true });
  }
}

function pageName(number: number): string {
  return `page-${number}.ndjson`;
}

async function readProgress(path: string): Promise<Progress | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    // None there, or none that can be read: what lies beside it is worth nothing without it.
    return undefined;
  }
}
