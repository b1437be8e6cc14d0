/** What a server shows to a key, as rows of a copy. */
import { type ClientA, openClient, type VariantA } from '../../src/client/client.ts';
import { all } from '../client/odd-server.ts';
import type { CopyRow } from './copies.ts';

const PERSON = ['id', 'email', 'name', 'role', 'class_role'] as const;

export interface Exported {
  readonly events: readonly CopyRow[];
  readonly users: readonly CopyRow[];
  readonly boards: readonly CopyRow[];
  readonly points: readonly CopyRow[];
}

/** The rows of the events, without `sync_id`. */
export async function* exportedEvents(baseUrl: string, key: string): AsyncGenerator<CopyRow> {
  const client: ClientA = openClient({ baseUrl, key, variant: 'a' });
  for await (const event of client.events()) yield flat(event);
}

/** Events have no `sync_id` here. */
export async function exported(baseUrl: string, key: string): Promise<Exported> {
  return { events: await all(exportedEvents(baseUrl, key)), ...(await exportedLists(baseUrl, key)) };
}

export async function exportedLists(baseUrl: string, key: string): Promise<Omit<Exported, 'events'>> {
  const client: ClientA = openClient({ baseUrl, key, variant: 'a' });
  const insights = openClient({ baseUrl: baseUrl.replace(/\/a$/, '/insights'), key, variant: 'insights' });
  return {
    points: (await all(insights.points())).map((row) => ({
      ...row,
      total_points: String(row.total_points),
      participation_score: String(row.participation_score),
    })),
    users: (await all(client.users())).map((user) => ({ ...user, role: null, name: null })),
    boards: (await all(client.boards())).map((board) => ({ ...board, category: null })),
  };
}

function flat(event: VariantA.Event): CopyRow {
  const { type, action, owner, actor, organization, pin, board, timestamp } = event;
  const row: Record<string, unknown> = { type, action, timestamp: Date.parse(timestamp) };
  for (const field of PERSON) {
    row[`owner_${field}`] = owner[field];
    row[`actor_${field}`] = actor[field];
  }
  for (const [name, value] of Object.entries(organization)) row[`organization_${name}`] = value;
  for (const [name, value] of Object.entries(board)) row[`board_${name}`] = value;
  for (const name of ['id', 'activity', 'title', 'body', 'web_url', 'image_url', 'tags'] as const)
    row[`pin_${name}`] = pin?.[name] ?? null;
  return row;
}

/** Each row as text, sorted, so that the order of rows and columns does not matter. */
export function sortedTexts(rows: readonly CopyRow[]): string[] {
  return rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
}
