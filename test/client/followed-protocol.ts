/** A small HTTP server with the sync protocol (decision 19) and events that a test changes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Added, type Followed, idOf, timestampOf, USERS } from './followed.ts';
import { KEY, openOddServer, sendLines, sendRefusal } from './odd-server.ts';

interface Row extends Added {
  readonly number: number;
  changed: number;
}

interface Kept {
  version: number;
  /** Part of every token. */
  era: number;
  rows: Row[];
  readonly names: Map<number, string>;
  readonly forgotten: { readonly user: number; readonly version: number }[];
  readonly deleted: { readonly number: number; readonly version: number }[];
}

export async function openProtocolServer(): Promise<Followed> {
  const names = new Map(USERS.map((user): [number, string] => [user, `Person ${user}`]));
  const kept: Kept = { version: 1, era: 1, rows: [], names, forgotten: [], deleted: [] };
  const server = await openOddServer((response, request) => answer(kept, response, request));
  let added = 0;
  const touch = (user: number, name: string) => {
    kept.version += 1;
    names.set(user, name);
    for (const row of kept.rows) if (row.actor === user || row.owner === user) row.changed = kept.version;
  };
  return {
    ...{ baseUrl: `${server.url}/a`, key: KEY },
    async add(...events) {
      kept.version += 1;
      for (const event of events) {
        added += 1;
        kept.rows.push({ ...event, number: added, changed: kept.version });
      }
    },
    async rename(user, name) {
      touch(user, name);
    },
    async forget(user) {
      touch(user, 'Forgotten');
      kept.rows = kept.rows.filter((row) => row.actor !== user);
      kept.forgotten.push({ user, version: kept.version });
    },
    async delete(number) {
      // As in the product, nothing is deleted twice: the client refuses pages that repeat.
      if (!kept.rows.some((row) => row.number === number)) return;
      kept.version += 1;
      kept.rows = kept.rows.filter((row) => row.number !== number);
      kept.deleted.push({ number, version: kept.version });
    },
    async invalidateTokens() {
      kept.era += 1;
    },
    close: () => server.close(),
  };
}

/** The elements of a response in order, each with the version in which it last changed. */
function changesSince(kept: Kept, since: number | undefined, board: number | undefined) {
  const elements: { text: string; version: number }[] = [];
  for (const { user, version } of since === undefined ? [] : kept.forgotten) {
    if (version > since!) elements.push({ text: `{"forgotten":{"user":${idOf(user)}}}`, version });
  }
  for (const { number, version } of since === undefined ? [] : kept.deleted) {
    if (version > since!) elements.push({ text: `{"sync_id":"s${number}","deleted":true}`, version });
  }
  for (const row of kept.rows) {
    if (board !== undefined && row.board !== board) continue;
    if (since !== undefined && row.changed <= since) continue;
    elements.push({ text: eventText(kept, row, since !== undefined), version: row.changed });
  }
  return elements;
}

function eventText(kept: Kept, { owner, actor, board, number }: Row, withSyncId: boolean): string {
  const person = (user: number) => ({
    ...{
      id: JSON.rawJSON(String(idOf(user))),
      email: `${user}@harbor.example`,
      name: kept.names.get(user) ?? '',
    },
    ...{ role: 'user', class_role: 'student' },
  });
  return JSON.stringify({
    ...{ type: 'board', action: 'visited', owner: person(owner), actor: person(actor) },
    organization: { id: 1, name: 'Harbor', domain: 'harbor.example', category_id: 2 },
    board: { id: board, title: `Board ${board}`, category: 'Bookmarks' },
    timestamp: timestampOf(number),
    ...(withSyncId && { sync_id: `s${number}` }),
  });
}

function answer(kept: Kept, response: ServerResponse, { url = '', headers }: IncomingMessage): unknown {
  if (headers['apikey'] !== KEY) return sendRefusal(response, 401, 'key-unknown');
  const { pathname, searchParams } = new URL(url, 'http://x');
  const [, board] = /^\/a\/v1\/events(?:\/board\/(\d+))?$/.exec(pathname) ?? [];
  const binding = `${kept.era}.${pathname}`;
  const token = (version: number) => Buffer.from(`${binding} ${version}`).toString('base64url');
  const since = sinceOf(searchParams.get('since'), binding);
  if (since === 'invalid') return sendRefusal(response, 400, 'since-invalid');
  // All pages of a sync show the version of the first page. The cursor has the offset and the
  // version.
  const [from = 0, end = kept.version] = searchParams.get('cursor')?.split('-').map(Number) ?? [];
  const limit = Number(searchParams.get('limit') ?? Number.MAX_SAFE_INTEGER);
  const changes = changesSince(kept, since, board === undefined ? undefined : Number(board))
    .filter(({ version }) => version <= end)
    .sort((one, other) => Number(isEvent(one.text)) - Number(isEvent(other.text)));
  searchParams.set('cursor', `${from + limit}-${end}`);
  const link = `<${pathname}?${searchParams}>; rel="next"`;
  return sendLines(
    response,
    changes.slice(from, from + limit).map(({ text }) => text),
    { 'sync-token': token(end), ...(changes.length > from + limit && { link }) },
  );
}

function isEvent(text: string): boolean {
  return text.startsWith('{"type"');
}

/** The version in a token; 0 for `start`, `undefined` without `since`. */
function sinceOf(text: string | null, binding: string): number | 'invalid' | undefined {
  if (text === null) return undefined;
  if (text === 'start') return 0;
  const [bound, version] = Buffer.from(text, 'base64url').toString().split(' ');
  return bound === binding ? Number(version) : 'invalid';
}
