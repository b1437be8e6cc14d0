/**
 * The files of a copy in a bucket (decision 103), where new ones are copied from the keys under
 * which they were uploaded. A bucket replaces each object in one step.
 */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import type { BucketObject, S3Objects } from '../../store/chunks/s3-objects.ts';
import { inParallel } from '../../system/in-parallel.ts';
import { openTemporaryFolder, type TemporaryFolder } from '../../system/temporary-folder.ts';
import { BucketLock, isOfLock, isRun, type LockOptions } from './bucket-lock.ts';
import {
  CHANGE_FILE,
  type CopyFiles,
  EVENTS_FOLDER,
  type FilesChange,
  LIST_NAMES,
  lacksFile,
  lostFiles,
  OWN_FOLDER,
  pathOf,
  renderJsonFile,
  STATE_FILE,
} from './copy-files.ts';
import {
  type CopyFileName,
  damaged,
  type FilesState,
  type RecordedChange,
  readChange,
  readState,
  renderChange,
  renderState,
} from './files-state.ts';
import { downloadColumns, downloadFile } from './parquet-download.ts';

const OWN = `${OWN_FOLDER}/`;
const UNFINISHED = 'unfinished/';
const MONTH_FILE = new RegExp(`^${EVENTS_FOLDER}/month=\\d{4}-\\d{2}/events\\.parquet$`);
const UPLOADS = 4;
const COPIES = 8;
/** What S3 stores and copies with one request. */
const MOST_BYTES = 5 * 2 ** 30;

type ObjectsByKey = ReadonlyMap<string, BucketObject>;

export class CopyBucket implements CopyFiles {
  readonly #objects: S3Objects;
  readonly #lockOptions: LockOptions;
  #lock: BucketLock | undefined;
  #temporary: TemporaryFolder | undefined;
  #found: ObjectsByKey = new Map();
  /** Whether a change is written down that is not yet made. */
  #isRecorded = false;

  constructor(objects: S3Objects, lockOptions: LockOptions = {}) {
    this.#objects = objects;
    this.#lockOptions = lockOptions;
  }

  async lock(): Promise<() => Promise<void>> {
    // Leaves nothing behind in a prefix of others.
    await this.#find();
    const lock = await BucketLock.take(this.#objects, OWN, this.#lockOptions);
    this.#lock = lock;
    return () => lock.release();
  }

  async begin(): Promise<FilesState | undefined> {
    this.#isRecorded = false;
    await this.#find();
    const change = await this.#read(CHANGE_FILE, readChange);
    if (change !== undefined) {
      this.#checkUploads(change);
      await this.#complete(change);
      await this.#find();
    }
    await this.#objects.delete([...this.#found.keys()].filter(isUnfinished));
    await this.#deleteLateChange();
    const state = await this.#read(STATE_FILE, readState);
    this.#checkFiles(state);
    this.#temporary = openTemporaryFolder();
    await mkdir(this.unfinished);
    return state;
  }

  get unfinished(): string {
    if (this.#temporary === undefined) throw new TypeError('The run has not begun.');
    return join(this.#temporary.path, 'unfinished');
  }

  nextFile(name: CopyFileName): string {
    return join(this.unfinished, `${name}.next`);
  }

  async readable(names: readonly CopyFileName[], columns?: readonly string[]): Promise<readonly string[]> {
    const suffix = columns === undefined ? 'whole' : 'columns';
    const downloads = names.map((name) => ({
      object: this.#object(pathOf(name)),
      path: join(this.unfinished, `${name}.${suffix}`),
    }));
    if (columns !== undefined) await downloadColumns(this.#objects, downloads, columns);
    else for (const download of downloads) await downloadFile(this.#objects, download);
    return downloads.map(({ path }) => path);
  }

  async change({ written, removed, state }: FilesChange): Promise<void> {
    const sizes = new Map<CopyFileName, number>();
    for (const name of written) {
      const { size } = await stat(this.nextFile(name));
      if (size > MOST_BYTES) throw tooLarge(name);
      sizes.set(name, size);
    }
    const change = { run: this.#held.run, written: sizes, removed, state };
    await inParallel(written, UPLOADS, () => async (name) => {
      await this.#objects.putFile(uploadKey(change, name), this.nextFile(name));
    });
    await this.#held.assertHeld();
    this.#isRecorded = true;
    await this.#objects.put(CHANGE_FILE, renderJsonFile(renderChange(change)));
    try {
      await this.#held.assertHeld();
    } catch (error) {
      await this.#withdrawLost(change);
      throw error;
    }
    await this.#complete(change);
  }

  /**
   * A run that was replaced can write its change down after this one has looked for one and deleted
   * the uploads. Nothing has been copied then, because that run looks at the lock once more before.
   */
  async #deleteLateChange(): Promise<void> {
    if ((await this.#objects.get(CHANGE_FILE)) === undefined) return;
    await this.#held.assertHeld();
    await this.#objects.delete([CHANGE_FILE]);
  }

  /**
   * The same for a change that this run wrote down even later, after a different one had taken the
   * lock. A run that completes a change deletes it before the uploads, so one without them can only
   * be late, as one that only removes files very likely is.
   */
  async #withdrawLost(change: RecordedChange): Promise<void> {
    await this.#find();
    const uploads = [...change.written.keys()].map((name) => uploadKey(change, name));
    if (uploads.length > 0 && uploads.every((key) => this.#found.has(key))) return;
    // Not before: by now it can be the change of the different run.
    const recorded = await this.#objects.get(CHANGE_FILE);
    if (recorded === undefined || readChange(Buffer.from(recorded).toString()).run !== change.run) return;
    await this.#objects.delete([CHANGE_FILE]);
  }

  /** Does not fail: the next run removes what is left in the bucket. */
  async end(): Promise<void> {
    this.#temporary?.[Symbol.dispose]();
    this.#temporary = undefined;
    if (this.#isRecorded) return;
    try {
      const prefix = `${OWN}${UNFINISHED}${this.#held.run}/`;
      for await (const batch of this.#objects.list(prefix)) {
        await this.#objects.delete(batch.map(({ key }) => key));
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  }

  get #held(): BucketLock {
    if (this.#lock === undefined) throw new TypeError('The lock comes first.');
    return this.#lock;
  }

  /** Lists the objects. Throws `copy-refused` for those of others. */
  async #find(): Promise<void> {
    const found = new Map<string, BucketObject>();
    for await (const batch of this.#objects.list('')) {
      for (const object of batch) {
        if (isOfCopy(object)) found.set(object.key, object);
        else if (!isFolderMark(object)) throw foreign(object.key);
      }
    }
    const isCopy = found.has(STATE_FILE) || found.has(CHANGE_FILE);
    const other = [...found.keys()].find((key) => !key.startsWith(OWN));
    if (!isCopy && other !== undefined) throw foreign(other);
    this.#found = found;
  }

  /** Throws `copy-refused` if the listing did not have it. */
  #object(key: string): BucketObject {
    const object = this.#found.get(key);
    if (object === undefined) throw lacksFile(key);
    return object;
  }

  async #read<T>(key: string, read: (text: string) => T): Promise<T | undefined> {
    if (!this.#found.has(key)) return undefined;
    const bytes = await this.#objects.get(key);
    return bytes && read(Buffer.from(bytes).toString());
  }

  /** Without all of the new files, some may be in place already and others lost. */
  #checkUploads(change: RecordedChange): void {
    for (const [name, bytes] of change.written) {
      if (this.#found.get(uploadKey(change, name))?.bytes !== bytes) throw lostFiles();
    }
  }

  #checkFiles(state: FilesState | undefined): void {
    if (state === undefined) return;
    const paths = new Set([...state.lists, ...state.months].map(pathOf));
    for (const path of paths) this.#object(path);
    // A copy of an earlier version does not have all lists.
    const other = [...this.#found.keys()].find((key) => isOfTable(key) && !paths.has(key));
    if (other === undefined) return;
    throw foreign(other, MONTH_FILE.test(other) ? undefined : 'Rename yours.');
  }

  /**
   * Can be repeated after each of its steps, and by two runs at the same time: the uploaded files
   * stay until all is done.
   */
  async #complete(change: RecordedChange): Promise<void> {
    await this.#held.assertHeld();
    await inParallel(change.written, COPIES, () => async ([name, bytes]) => {
      const isCopied = await this.#objects.copy({ key: uploadKey(change, name), bytes }, pathOf(name));
      if (!isCopied) throw lostFiles();
    });
    await this.#held.assertHeld();
    await this.#objects.delete(change.removed.map(pathOf));
    await this.#held.assertHeld();
    await this.#objects.put(STATE_FILE, renderJsonFile(renderState(change.state)));
    await this.#held.assertHeld();
    await this.#objects.delete([CHANGE_FILE]);
    this.#isRecorded = false;
    await this.#objects.delete([...change.written.keys()].map((name) => uploadKey(change, name)));
  }
}

/**
 * Where a run uploads a file; patterns for Parquet files do not find it. Throws `copy-refused` for
 * a damaged change.
 */
function uploadKey({ run = '' }: Pick<RecordedChange, 'run'>, name: CopyFileName): string {
  if (!isRun(run)) throw damaged();
  return `${OWN}${UNFINISHED}${run}/${pathOf(name).replaceAll('/', '-')}.next`;
}

function isUnfinished(key: string): boolean {
  return key.startsWith(`${OWN}${UNFINISHED}`);
}

function isOfCopy({ key }: BucketObject): boolean {
  if (isUnfinished(key)) return isRun(key.slice(OWN.length + UNFINISHED.length).replace(/\/[^/]+$/, ''));
  if (key.startsWith(OWN)) return key === CHANGE_FILE || isOfLock(key.slice(OWN.length));
  return key === STATE_FILE || isOfTable(key);
}

function isOfTable(key: string): boolean {
  return MONTH_FILE.test(key) || LIST_NAMES.some((name) => pathOf(name) === key);
}

/** Some programs store an empty object for each folder that they show. */
function isFolderMark({ key, bytes }: BucketObject): boolean {
  return bytes === 0 && (key === '' || key.endsWith('/'));
}

function foreign(key: string, advice = 'Use an empty or a new prefix.'): AppError {
  return new AppError(
    'copy-refused',
    `The prefix in the bucket has the object "${key}", which does not belong to the copy. ${advice}`,
  );
}

function tooLarge(name: CopyFileName): AppError {
  return new AppError(
    'copy-refused',
    `The file ${pathOf(name)} would have more than 5 GiB, which is too large for a bucket. Use a folder.`,
  );
}
