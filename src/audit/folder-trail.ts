/**
 * The records of administration of a data folder: files in its folder `audit`, and their head in
 * the catalog. A record is durable before the head is changed, so a crash can leave a record after
 * the head, but never a head without its record.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { openSqliteCatalog, type SqliteCatalog } from '../store/catalog/sqlite-catalog.ts';
import { lockFile } from '../store/files/file-lock.ts';
import { makeFolder } from '../system/make-folder.ts';
import { synchronize } from '../system/synchronize.ts';
import { type AuditHead, CHAIN_START, chainRecord, readChained } from './audit-record.ts';
import type { AuditEntry, AuditTrail, StoredLine } from './audit-trail.ts';
import { linesOf, numberedFiles, numberedName, tailOf } from './line-files.ts';

export const AUDIT_FOLDER = 'audit';
/** Each file is named by the sequence number of its first record. */
const PREFIX = 'administration-';
const LOCK = '.lock';
const WAIT_MS = 10_000;
/** A file that has reached it is followed by the next one. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Where the next record goes. */
interface TrailEnd {
  readonly file: string | undefined;
  readonly bytes: number;
  readonly completeBytes: number;
  /** Whether there is any line, in any file. */
  readonly hasLines: boolean;
  /** The last record that can be read. */
  readonly last: AuditHead;
}

/** Opens the trail of a data folder that exists. Throws `data-unreadable`. */
export function openFolderTrail(dataFolder: string, mostBytes = MOST_BYTES): AuditTrail {
  return new FolderTrail(dataFolder, openSqliteCatalog(dataFolder), mostBytes);
}

class FolderTrail implements AuditTrail {
  readonly mostAfterHead = 1;
  readonly #folder: string;
  readonly #catalog: SqliteCatalog;
  readonly #mostBytes: number;

  constructor(dataFolder: string, catalog: SqliteCatalog, mostBytes: number) {
    this.#folder = join(dataFolder, AUDIT_FOLDER);
    this.#catalog = catalog;
    this.#mostBytes = mostBytes;
  }

  async append(entry: AuditEntry): Promise<void> {
    makeFolder(this.#folder);
    const release = await this.#lock();
    try {
      const kept = (await this.head()) ?? CHAIN_START;
      const end = await this.#end();
      // If records were cut off, or more were added than an interrupted command leaves, the next
      // one follows the head, so that this stays visible.
      const isInterrupted = end.last.sequence === kept.sequence + this.mostAfterHead;
      const missing = end.hasLines || kept.sequence === 0 ? undefined : kept.sequence;
      // First, so that even several interrupted commands leave one record at most.
      if (isInterrupted) await this.#catalog.setAuditHead(end.last);
      const { line, head } = chainRecord({ ...entry, missing }, isInterrupted ? end.last : kept);
      await this.#write(line, head, end, kept);
      await this.#catalog.setAuditHead(head);
    } finally {
      release();
    }
  }

  async head(): Promise<AuditHead | undefined> {
    return await this.#catalog.auditHead();
  }

  async *lines(): AsyncGenerator<StoredLine> {
    for (const { name, number: first } of numberedFiles(this.#folder, PREFIX)) {
      for await (const { text, number, isComplete } of linesOf(join(this.#folder, name))) {
        const place = `${AUDIT_FOLDER}/${name}, line ${number}`;
        yield { text, place, isComplete, sequence: first + number - 1 };
      }
    }
  }

  async close(): Promise<void> {
    await this.#catalog.close();
  }

  async #lock(): Promise<() => void> {
    const path = join(this.#folder, LOCK);
    // SQLite would make it readable for everyone.
    await (await open(path, 'a', 0o600)).close();
    try {
      return await lockFile(path, { waitMs: WAIT_MS });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, 'a different command writes to it', { cause: error });
    }
  }

  async #end(): Promise<TrailEnd> {
    const files = numberedFiles(this.#folder, PREFIX).toReversed();
    let end = { file: undefined as string | undefined, bytes: 0, completeBytes: 0, hasLines: false };
    for (const [at, { name }] of files.entries()) {
      const { line, bytes, completeBytes } = await tailOf(this.#folder, name);
      if (at === 0) end = { file: name, bytes, completeBytes, hasLines: false };
      end.hasLines ||= line !== undefined;
      const last = line === undefined ? undefined : readChained(line);
      if (last !== undefined) return { ...end, last: { sequence: last.sequence, digest: last.digest } };
      // A damaged record: the head has its number.
      if (line !== undefined) break;
    }
    return { ...end, last: CHAIN_START };
  }

  async #write(line: string, { sequence }: AuditHead, end: TrailEnd, kept: AuditHead): Promise<void> {
    // A file without records that a killed command left has the number of the next record.
    const isFull = end.bytes >= this.#mostBytes || end.file === undefined;
    const name = isFull || isMisnamed(end, sequence) ? numberedName(PREFIX, sequence) : end.file;
    const file = await open(join(this.#folder, name!), 'a', 0o600);
    try {
      let start = '';
      if (name === end.file && end.bytes > end.completeBytes) {
        // The rest of a record that a killed command was writing. Anything else is evidence.
        if (end.last.sequence >= kept.sequence) await file.truncate(end.completeBytes);
        else start = '\n';
      }
      await file.writeFile(`${start}${line}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    if (name !== end.file) await synchronize(this.#folder);
  }
}

function isMisnamed({ file, completeBytes, bytes }: TrailEnd, sequence: number): boolean {
  return completeBytes === 0 && bytes === 0 && file !== numberedName(PREFIX, sequence);
}
