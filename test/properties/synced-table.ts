/**
 * A sync client as the reference describes it: a table, a token, and a paged sync that can break
 * off.
 */
import assert from 'node:assert/strict';
import { nextOf, type Reply } from '../model/client.ts';

const NAME = /,"sync_id":"([\w-]{22})"\}$/;
const FORGOTTEN = /^\{"forgotten":\{"user":(-?\d+)\}\}$/;
const DELETED = /^\{"sync_id":"([\w-]{22})","deleted":true\}$/;
const ACTOR = /"actor":\{"id":(-?\d+),/;

export class SyncedTable {
  readonly #read: (target: string) => Promise<Reply>;
  readonly #path: string;
  readonly #limit: number | undefined;
  /** Lines without their sync ids, by sync id. */
  readonly #rows = new Map<string, string>();
  /** Survives a crash, like the rows. */
  #token = 'start';
  #walk: { readonly next: string } | undefined;
  /** Whether the last response was 404. */
  isMissing = false;

  constructor(read: (target: string) => Promise<Reply>, path: string, limit: number | undefined) {
    this.#read = read;
    this.#path = path;
    this.#limit = limit;
  }

  rows(): string[] {
    return [...this.#rows.values()].toSorted();
  }

  crash(): void {
    this.#walk = undefined;
  }

  /** Reads to the last page of the current sync, or of the next one. */
  async catchUp(): Promise<void> {
    do await this.readPage();
    while (this.#walk !== undefined);
  }

  async readPage(): Promise<void> {
    const reply = await this.#read(this.#walk?.next ?? this.#begin());
    this.isMissing = reply.status === 404;
    if (this.isMissing) return this.crash();
    assert.equal(reply.status, 200, reply.text);
    const token = reply.headers.get('sync-token') ?? '';
    for (const line of reply.text.split('\n').slice(0, -1)) this.#apply(line);
    const next = nextOf(reply);
    if (next === undefined) this.#token = token;
    this.#walk = next === undefined ? undefined : { next };
  }

  #begin(): string {
    if (this.#token === 'start') this.#rows.clear();
    const target = new URL(this.#path, 'http://host');
    target.searchParams.set('since', this.#token);
    if (this.#limit !== undefined) target.searchParams.set('limit', String(this.#limit));
    return target.pathname + target.search;
  }

  #apply(line: string): void {
    const [, forgotten] = FORGOTTEN.exec(line) ?? [];
    if (forgotten !== undefined) {
      for (const [name, row] of this.#rows) if (ACTOR.exec(row)?.[1] === forgotten) this.#rows.delete(name);
      return;
    }
    const [, deleted] = DELETED.exec(line) ?? [];
    if (deleted !== undefined) {
      this.#rows.delete(deleted);
      return;
    }
    const [, name = ''] = NAME.exec(line) ?? [];
    assert.notEqual(name, '', line);
    this.#rows.set(name, line.replace(NAME, '}'));
  }
}
