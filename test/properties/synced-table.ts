/**
 * A sync client as the reference describes it: a table, a token, and a paged sync that can break
 * off.
 */
import assert from 'node:assert/strict';
import { nextOf, type Reply } from '../model/client.ts';

const NAME = /,"sync_id":"([\w-]{22})"\}$/;
const FORGOTTEN = /^\{"forgotten":\{"user":(-?\d+)\}\}$/;
const DELETED = /^\{"sync_id":"([\w-]{22})","deleted":true\}$/;
const TOKEN = /^\{"sync_token":"([\w-]+)"\}$/;
const ACTOR = /"actor":\{"id":(-?\d+),/;
/** In a string, the quote after the brace would be escaped. */
const BETWEEN_ITEMS = /(?<=\}),(?=\{"(?:type|forgotten|sync_id|sync_token)":)/;

export interface SyncManner {
  readonly limit?: number | undefined;
  /** Where the client reads the sync token. */
  readonly tokenFrom?: 'header' | 'record';
  readonly format?: 'json' | 'ndjson';
}

export class SyncedTable {
  readonly #read: (target: string) => Promise<Reply>;
  readonly #path: string;
  readonly #manner: SyncManner;
  /** Lines without their sync ids, by sync id. */
  readonly #rows = new Map<string, string>();
  /** Survives a crash, like the rows. */
  #token = 'start';
  #walk: { readonly next: string } | undefined;
  /** Whether the last response was 404. */
  isMissing = false;

  constructor(read: (target: string) => Promise<Reply>, path: string, manner: SyncManner) {
    this.#read = read;
    this.#path = path;
    this.#manner = manner;
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
    const next = nextOf(reply);
    const token = this.#tokenOf(reply);
    assert.equal(token !== undefined, next === undefined, 'the last page has the token, and no other page');
    for (const item of this.#itemsOf(reply)) if (!TOKEN.test(item)) this.#apply(item);
    this.#token = token ?? this.#token;
    this.#walk = next === undefined ? undefined : { next };
  }

  /** The token of the last page; absent on other pages. */
  #tokenOf(reply: Reply): string | undefined {
    const header = reply.headers.get('sync-token') ?? '';
    if (this.#manner.tokenFrom !== 'record') return nextOf(reply) === undefined ? header : undefined;
    const tokens = this.#itemsOf(reply).map((item) => TOKEN.exec(item)?.[1]);
    const token = tokens.pop();
    assert.ok(tokens.every((other) => other === undefined));
    if (token !== undefined) assert.equal(token, header);
    return token;
  }

  #itemsOf({ text }: Reply): readonly string[] {
    if (this.#manner.format !== 'json') return text.split('\n').slice(0, -1);
    return text === '[]' ? [] : text.slice(1, -1).split(BETWEEN_ITEMS);
  }

  #begin(): string {
    if (this.#token === 'start') this.#rows.clear();
    const target = new URL(this.#path, 'http://host');
    target.searchParams.set('since', this.#token);
    const { limit, tokenFrom, format = 'ndjson' } = this.#manner;
    target.searchParams.set('format', format);
    if (limit !== undefined) target.searchParams.set('limit', String(limit));
    if (tokenFrom === 'record') target.searchParams.set('token', 'record');
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
