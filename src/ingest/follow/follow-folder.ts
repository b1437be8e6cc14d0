/**
 * Follows a folder: each complete file is published by its own import, all or nothing, and is not
 * imported again (decision 57). A file is complete when it has not changed for one polling
 * interval.
 */
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../domain/app-error.ts';
import { RECORD_KINDS } from '../../store/staging.ts';
import { type ImportReport, importBundle } from '../import.ts';
import { kindInFolder, NATURAL_ORDER } from '../input/bundle.ts';
import { type FileIdentity, lookAt } from '../input/found-file.ts';
import { refuseFile } from '../input/refuse-file.ts';
import { digestOf, type Entry, FinishedFiles } from './finished-files.ts';
import type { FollowOptions } from './follow-lines.ts';

export interface FollowedFile {
  readonly report: ImportReport;
  /** Its name in the folder. */
  readonly file: string;
  readonly bytes: number;
}

/**
 * Runs until `stop` is aborted. Without `skipInvalid`, an invalid file ends it with
 * `import-refused`; the files before it are published. Throws like `importBundle`.
 */
export async function followFolder(
  folder: string,
  options: FollowOptions,
  onPublished: (followed: FollowedFile) => void,
  onRefused: (report: ImportReport) => void,
): Promise<void> {
  const { everyMs, stop } = options;
  refuseRejectsInside(folder, options);
  const follower = new FolderFollower(folder, options);
  for (;;) {
    for (const entry of await follower.look()) {
      if (stop.aborted) return;
      const report = await follower.take(entry);
      if (report === undefined) continue;
      if (report.outcome !== 'refused') onPublished({ report, file: entry.name, bytes: entry.size });
      else {
        onRefused(report);
        throw new AppError(
          'import-refused',
          `${join(folder, entry.name)} is invalid; nothing of it was published. Correct or remove the file, or skip invalid records with --skip-invalid FILE.`,
        );
      }
    }
    if (stop.aborted) return;
    await pause(everyMs, undefined, { signal: stop }).catch(() => {});
  }
}

const FOLLOWED = { areFound: true, addsRejects: true, mayDropAll: true };

interface Seen extends Entry {
  readonly identity: FileIdentity;
}

class FolderFollower {
  readonly #folder: string;
  readonly #options: FollowOptions;
  /** Undefined as long as the organization does not exist. */
  #finished: FinishedFiles | undefined;
  /** Files seen by the last `look`, by name. */
  #seen: ReadonlyMap<string, Seen> = new Map();

  constructor(folder: string, options: FollowOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /**
   * The complete files that have not been imported, in the order of a bundle. Throws
   * `file-unreadable`.
   */
  async look(): Promise<readonly Seen[]> {
    this.#finished ??= await this.#openFinished();
    const seen = new Map<string, Seen>();
    const ready: Seen[] = [];
    for (const name of await this.#names()) {
      const entry = await this.#entryOf(name);
      if (entry === undefined) continue;
      seen.set(name, entry);
      const before = this.#seen.get(name);
      const isStill = before !== undefined && isSame(before, entry);
      if (!isStill && Date.now() - entry.modifiedMs < this.#options.everyMs) continue;
      if (this.#finished?.hasEntry(entry) !== true) ready.push(entry);
    }
    this.#seen = seen;
    return ready;
  }

  /** The report of the import; undefined if the file was imported before, or no longer exists. */
  async take(entry: Seen): Promise<ImportReport | undefined> {
    try {
      return await this.#take(entry);
    } catch (error) {
      const isGone = (await this.#entryOf(entry.name)) === undefined;
      if (error instanceof AppError && error.code === 'file-unreadable' && isGone) return undefined;
      throw error;
    }
  }

  async #take(entry: Seen): Promise<ImportReport | undefined> {
    const { everyMs: _everyMs, stop: _stop, ...options } = this.#options;
    const path = join(this.#folder, entry.name);
    const digest = await digestOf(path, options.followsLinks ? undefined : entry.identity);
    const isKnown = this.#finished?.hasDigest(digest) === true;
    const report = isKnown ? undefined : await importBundle({ ...options, ...FOLLOWED, paths: [path] });
    if (report?.outcome === 'refused') return report;
    // A file that has changed during the import is imported again when it is complete.
    const after = await this.#entryOf(entry.name);
    if (after === undefined || !isSame(after, entry)) return report;
    this.#finished ??= await this.#openFinished();
    const { name, size, modifiedMs } = entry;
    await this.#finished?.add({ name, size, modifiedMs, digest });
    return report;
  }

  /** Names of files to import, in the order of a bundle. */
  async #names(): Promise<readonly string[]> {
    const { foreign } = this.#options;
    const names = await readdir(this.#folder).catch((error: unknown) => refuseFile(this.#folder, error));
    return names
      .flatMap((name) => {
        const kind = kindInFolder(name, foreign?.format);
        return kind === undefined || name.startsWith('.')
          ? []
          : [{ name, place: RECORD_KINDS.indexOf(kind) }];
      })
      .sort((one, other) => one.place - other.place || NATURAL_ORDER.compare(one.name, other.name))
      .map(({ name }) => name);
  }

  /** Undefined for a folder, and for a file that no longer exists. Throws `file-unreadable`. */
  async #entryOf(name: string): Promise<Seen | undefined> {
    const found = await lookAt(join(this.#folder, name), this.#options.followsLinks ?? false);
    return found === 'folder' || found === 'none' ? undefined : { name, ...found };
  }

  async #openFinished(): Promise<FinishedFiles | undefined> {
    const { store, organization } = this.#options;
    try {
      const { secret } = await store.organization(organization);
      return await FinishedFiles.open(this.#folder, secret);
    } catch (error) {
      if (error instanceof AppError && error.code === 'organization-unknown') return undefined;
      throw error;
    }
  }
}

function isSame(one: Entry, other: Entry): boolean {
  return one.size === other.size && one.modifiedMs === other.modifiedMs;
}

/** A file of rejects in the folder could itself be imported. Throws `option-malformed`. */
function refuseRejectsInside(folder: string, { skipInvalid }: FollowOptions): void {
  if (skipInvalid === undefined || resolve(skipInvalid, '..') !== resolve(folder)) return;
  throw new AppError(
    'option-malformed',
    `The file of --skip-invalid must be outside the followed folder ${folder}.`,
  );
}
