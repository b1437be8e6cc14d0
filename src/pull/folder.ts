/**
 * The folder in which a pull keeps what it has got so far: whole files only, beside a small one
 * that says what they are. A pull that is killed at any moment goes on from there. Once it is
 * published only ids and entity tags stay.
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
/** Ids of what was published last. */
const PUBLISHED = 'published';
/** What an import takes. */
const BUNDLE = 'bundle';

/** Where a new response is written to. */
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

  /** Goes on with what is there of the same source, and removes everything else. */
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

  /** Everything goes, and the next look is the first one. */
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

  /** The file of a response that was got in this round, or held; absent when there is none. */
  file(name: FileName): string | undefined {
    const kept = this.progress.files.get(name);
    if (kept?.file === undefined || kept.round !== this.progress.round) return undefined;
    return this.#fileAt(kindOf(name), kept.file.number);
  }

  /** The same number again when the file was there before. */
  slot(name: FileName): FolderSlot {
    const number = this.progress.files.get(name)?.file?.number ?? this.progress.lastNumber + 1;
    return { number, path: this.#fileAt(kindOf(name), number) };
  }

  /** Of one response for each board, in this round. */
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

  /** Pages of events so far. */
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
   * The walk did not hold, from its first page on. No token tells where the events before it were
   * published.
   */
  dropPages(): void {
    this.room.giveBack(this.progress.pages.bytes);
    this.progress.pages = { count: 0, bytes: 0 };
    this.progress.walk = undefined;
    this.progress.token = undefined;
  }

  /** In one step, so that a kill leaves what was before or what is now. */
  async save(): Promise<void> {
    const path = join(this.#path, PROGRESS);
    await writeFile(`${path}.tmp`, writeProgress(this.progress), { mode: 0o600 });
    await rename(`${path}.tmp`, path);
  }

  /** What was got is kept, and is asked for again. */
  async lookAgain(): Promise<void> {
    this.progress.round += 1;
    await this.save();
  }

  /**
   * Throws `KeptDamage` when a file has not the size with which it was written, above all because
   * it is gone.
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
   * All that has been got is published, with these ids: nothing about people is kept any longer.
   */
  async settle(ids: string): Promise<void> {
    const { progress } = this;
    await rm(this.published, { recursive: true, force: true });
    await rename(ids, this.published);
    // The tag of a server with tokens names its version, so one tag says all.
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

  /** Removes what the progress does not know: of a pull that was killed, and what is published. */
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

  /** What is kept already counts as free. */
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

/** Named by what it holds, as an import requires it, and by a number. */
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
