/**
 * The folder in which a pull stores its data: complete files only, and a small file that describes
 * them. A pull that is killed at any moment continues from there. After a publication, only ids and
 * entity tags remain.
 */
import { mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KeptDamage, LineRoom } from './kept-lines.ts';
import {
  type FileKind,
  type FileName,
  newProgress,
  type Progress,
  readProgress,
  writeProgress,
} from './progress.ts';

const PROGRESS = 'progress.json';
/** Folder of the ids that were published last. */
const PUBLISHED = 'published';
/** Folder of the bundle for the import. */
const BUNDLE = 'bundle';

/** The file for a new response. */
export interface FolderSlot {
  readonly number: number;
  readonly path: string;
}

export class PullFolder {
  readonly #path: string;
  readonly #shareOfDisk: number;
  progress: Progress;
  room: LineRoom = new LineRoom(0);

  private constructor(path: string, progress: Progress, shareOfDisk: number) {
    this.#path = path;
    this.progress = progress;
    this.#shareOfDisk = shareOfDisk;
  }

  /** Keeps the data of the same source, and removes everything else. */
  static async open(path: string, source: string, shareOfDisk: number): Promise<PullFolder> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const known = readProgress(await readFile(join(path, PROGRESS), 'utf8').catch(() => ''));
    const folder = new PullFolder(path, newProgress(source), shareOfDisk);
    if (known?.source === source) folder.progress = known;
    else await folder.#empty();
    await folder.#sweep();
    await folder.#measure();
    return folder;
  }

  /** Removes everything. The next round is the first one. */
  async startOver(): Promise<void> {
    this.progress = newProgress(this.progress.source);
    await this.#empty();
    await this.#measure();
  }

  async #empty(): Promise<void> {
    for (const name of await readdir(this.#path))
      await rm(join(this.#path, name), { recursive: true, force: true });
  }

  get bundle(): string {
    return join(this.#path, BUNDLE);
  }

  get published(): string {
    return join(this.#path, PUBLISHED);
  }

  /** The file of a response that is valid in this round; undefined if there is none. */
  file(name: FileName): string | undefined {
    const kept = this.progress.files.get(name);
    if (kept?.file === undefined || kept.round !== this.progress.round) return undefined;
    return this.#fileAt(kindOf(name), kept.file.number);
  }

  /** Uses the number of the existing file again, if there is one. */
  slot(name: FileName): FolderSlot {
    const number = this.progress.files.get(name)?.file?.number ?? this.progress.lastNumber + 1;
    return { number, path: this.#fileAt(kindOf(name), number) };
  }

  /** Files with the points of this round, one per board. */
  get points(): readonly string[] {
    const names = [...this.progress.files.keys()].filter((name) => kindOf(name) === 'points');
    return names.flatMap((name) => this.file(name) ?? []);
  }

  put(name: FileName, { number }: FolderSlot, bytes: number, etag: string | undefined): void {
    const { files, round } = this.progress;
    this.room.giveBack(files.get(name)?.file?.bytes ?? 0);
    files.set(name, { file: { number, bytes }, round, etag });
    this.progress.lastNumber = Math.max(this.progress.lastNumber, number);
    this.progress.isNew = true;
  }

  /** Files with the pages of events, in order. */
  get pages(): readonly string[] {
    return Array.from({ length: this.progress.pages.count }, (_, at) => this.#pageAt(at + 1));
  }

  get nextPage(): string {
    return this.#pageAt(this.progress.pages.count + 1);
  }

  putPage(bytes: number): void {
    const { pages } = this.progress;
    this.progress.pages = { count: pages.count + 1, bytes: pages.bytes + bytes };
    this.progress.isNew = true;
  }

  /**
   * Discards the traversal, all pages and the sync token. There is no token for the position up to
   * which events are published, so the next traversal begins from the start.
   */
  dropPages(): void {
    this.room.giveBack(this.progress.pages.bytes);
    this.progress.pages = { count: 0, bytes: 0 };
    this.progress.walk = undefined;
    this.progress.token = undefined;
  }

  /** Atomic: after a kill, either the old or the new progress is there. */
  async save(): Promise<void> {
    const path = join(this.#path, PROGRESS);
    await writeFile(`${path}.tmp`, writeProgress(this.progress), { mode: 0o600 });
    await rename(`${path}.tmp`, path);
  }

  /** Begins a new round: responses are kept, but requested again. */
  async lookAgain(): Promise<void> {
    this.progress.round += 1;
    await this.save();
  }

  /**
   * Throws `KeptDamage` when a file does not have its recorded size, usually because it is missing.
   */
  async check(): Promise<void> {
    const { files, round, pages } = this.progress;
    for (const [name, kept] of files) {
      if (kept.round !== round || kept.file === undefined) continue;
      const size = await sizeOf(this.#fileAt(kindOf(name), kept.file.number));
      if (size !== kept.file.bytes) throw new KeptDamage('a file has another size');
    }
    let bytes = 0;
    for (const page of this.pages) bytes += await sizeOf(page);
    if (bytes !== pages.bytes) throw new KeptDamage('pages have another size');
  }

  /**
   * Called when all data is published; `ids` is the folder of its ids. Removes all other data about
   * users.
   */
  async settle(ids: string): Promise<void> {
    const { progress } = this;
    await rm(this.published, { recursive: true, force: true });
    await rename(ids, this.published);
    // The entity tag of a server with sync tokens names its version, so one tag is sufficient.
    const held = [...progress.files].filter(
      ([name, { round }]) => round === progress.round && (name === 'users' || progress.hasTokens !== true),
    );
    progress.files.clear();
    for (const [name, kept] of held) progress.files.set(name, { ...kept, file: undefined });
    progress.pages = { count: 0, bytes: 0 };
    progress.isNew = false;
    progress.round += 1;
    await this.save();
    await this.#sweep();
  }

  /** Removes files that the progress does not list, of a killed pull or already published. */
  async #sweep(): Promise<void> {
    const known = new Set([
      PROGRESS,
      PUBLISHED,
      ...this.pages.map((path) => path.slice(this.#path.length + 1)),
    ]);
    for (const [name, { file }] of this.progress.files) {
      if (file !== undefined) known.add(fileName(kindOf(name), file.number));
    }
    for (const name of await readdir(this.#path)) {
      if (!known.has(name)) await rm(join(this.#path, name), { recursive: true, force: true });
    }
  }

  /** Disk space used by kept files counts as free. */
  async #measure(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#path);
    const kept = this.#keptBytes;
    this.room = new LineRoom((bavail * bsize + kept) * this.#shareOfDisk - kept);
  }

  get #keptBytes(): number {
    const { files, pages } = this.progress;
    return [...files.values()].reduce((sum, { file }) => sum + (file?.bytes ?? 0), pages.bytes);
  }

  #fileAt(kind: FileKind, number: number): string {
    return join(this.#path, fileName(kind, number));
  }

  #pageAt(number: number): string {
    return join(this.#path, `page-${number}`);
  }
}

/** Begins with the kind of record, as an import requires, and ends with a number. */
function fileName(kind: FileKind, number: number): string {
  return `${kind}-${number}.ndjson`;
}

function kindOf(name: FileName): FileKind {
  const [kind = 'points'] = name.split(/[ -]/, 1);
  return kind as FileKind;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw new KeptDamage('a file is gone', { cause: error });
  }
}
