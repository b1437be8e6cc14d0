/**
 * The access records of one serving process (decision 87): files of lines that form a chain. Adding
 * a record never waits: records are collected and written at most once a second. If they cannot be
 * written, the server continues, and the next record counts the lost ones.
 */
import { accessSync, constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../domain/app-error.ts';
import { makeFolder } from '../system/make-folder.ts';
import { accessPrefix } from './access-files.ts';
import { type AuditHead, CHAIN_START, chainRecord } from './audit-record.ts';
import { numberedName } from './line-files.ts';

/** A request with a key whose response has ended. It contains no data about users. */
export interface AccessEntry {
  /** In UTC, to the millisecond. */
  readonly time: string;
  readonly key: string;
  readonly organization: string;
  readonly method: string;
  /** A template from the route table, like `/a/v1/events/board/:board_id`. */
  readonly route: string;
  /** `all`, or the number of boards in the scope; `users` can also be `of-boards`. */
  readonly boards: string | number;
  readonly users: string | number;
  readonly representation: string | undefined;
  readonly status: number;
  /** Number of events, records or changes; absent if it is not known, as in a live stream. */
  readonly rows: number | undefined;
  readonly bytes: number;
  /** Whether LMS ids of users were requested (decision 101); absent: no. */
  readonly lmsIds?: true | undefined;
}

interface AccessLogOptions {
  readonly folder: string;
  /** Called with the number of records that could not be written. */
  readonly onLost: (count: number) => void;
  /** A file that has reached it is followed by the next one. */
  readonly mostBytes?: number | undefined;
}

const FLUSH_MS = 1_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** Records in memory; further ones are lost. */
const MOST_WAITING = 50_000;
/** Records that are rendered in one turn of the event loop: about a millisecond. */
const RECORDS_AT_ONCE = 100;

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #mostBytes: number;
  readonly #prefix: string;
  readonly #timer: NodeJS.Timeout;
  #waiting: AccessEntry[] = [];
  #lost = 0;
  #head: AuditHead = CHAIN_START;
  #file: FileHandle | undefined;
  #files = 0;
  /** Bytes of complete records in the file. */
  #bytes = 0;
  #flushing: Promise<void> | undefined;

  /** Creates the folder if it does not exist. Throws `settings-refused`. */
  constructor(options: AccessLogOptions) {
    prepareFolder(options.folder);
    this.#options = options;
    this.#mostBytes = options.mostBytes ?? MOST_BYTES;
    this.#prefix = accessPrefix(Date.now(), process.pid);
    this.#timer = setInterval(() => {
      if (this.#flushing === undefined) void this.flush();
    }, FLUSH_MS).unref();
  }

  add(entry: AccessEntry): void {
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(entry);
    else this.#lose(1);
  }

  /** Writes what was added before. Never throws. */
  async flush(): Promise<void> {
    await this.#flushing;
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  /** Writes all records durably. Never throws. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
    await this.#closeFile();
  }

  async #flush(): Promise<void> {
    const entries = this.#waiting;
    if (entries.length === 0) return;
    this.#waiting = [];
    for (let at = 0; at < entries.length; at += RECORDS_AT_ONCE) {
      const some = entries.slice(at, at + RECORDS_AT_ONCE);
      const lost = this.#lost;
      try {
        await this.#write(lost === 0 ? some : [{ time: some[0]!.time, lost }, ...some]);
        this.#lost -= lost;
      } catch {
        this.#lose(some.length);
        // A part of them may be in the file.
        await this.#file?.truncate(this.#bytes).catch(() => undefined);
      }
      await setImmediate();
    }
  }

  async #write(records: readonly object[]): Promise<void> {
    if (this.#bytes >= this.#mostBytes) await this.#closeFile();
    this.#file ??= await this.#openFile();
    let head = this.#head;
    const lines = records.map((record) => {
      const chained = chainRecord(record, head);
      head = chained.head;
      return `${chained.line}\n`;
    });
    const bytes = Buffer.from(lines.join(''));
    for (let at = 0; at < bytes.length; ) {
      at += (await this.#file.write(bytes, at, bytes.length - at, this.#bytes + at)).bytesWritten;
    }
    this.#bytes += bytes.length;
    this.#head = head;
  }

  async #openFile(): Promise<FileHandle> {
    const path = join(this.#options.folder, numberedName(this.#prefix, this.#files + 1));
    const file = await open(path, 'wx', 0o600);
    this.#files += 1;
    this.#bytes = 0;
    return file;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#bytes = 0;
    await file?.datasync().catch(() => undefined);
    await file?.close().catch(() => undefined);
  }

  #lose(count: number): void {
    this.#lost += count;
    this.#options.onLost(count);
  }
}

function prepareFolder(folder: string): void {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError(
      'settings-refused',
      `Access records cannot be written (${reason}). --audit-folder must name a folder that can be written.`,
      { cause: error },
    );
  }
}
