/** Import bundles as plain objects with the field names of decision 28, and a writer for files. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Json, renderJson } from './json.ts';

export interface UserInput {
  readonly id: bigint;
  readonly email: string;
  readonly name?: string;
  readonly first_name?: string;
  readonly last_name?: string;
  readonly role?: string;
  readonly class_role?: string;
  readonly created_at?: string;
  /** LMS properties by name; an empty value removes one. */
  readonly lms?: Readonly<Record<string, string>>;
  /** All other fields are ignored then. */
  readonly forgotten?: true;
}

export interface BoardInput {
  readonly id: bigint;
  readonly title: string;
  readonly category?: string;
  readonly lti_id?: string;
  readonly course_id?: string;
  readonly created_at?: string;
}

export interface PinInput {
  readonly id: bigint;
  readonly board_id: bigint;
  readonly owner_id: bigint;
  readonly title: string;
  readonly body?: string;
  readonly web_url?: string;
  readonly image_url?: string;
  readonly tags?: readonly string[];
}

export interface EventInput {
  readonly id?: bigint;
  readonly type: string;
  readonly action: string;
  readonly owner_id: bigint;
  readonly actor_id: bigint;
  readonly board_id: bigint;
  readonly pin_id?: bigint;
  readonly timestamp: string;
  readonly body?: string;
}

export interface MembershipInput {
  readonly board_id: bigint;
  readonly user_id: bigint;
}

export interface PointsInput {
  readonly user_id: bigint;
  readonly board_id: bigint;
  readonly total_points: number;
  readonly participation_score: number;
}

export interface AdjustmentInput {
  readonly user_id: bigint;
  readonly board_id: bigint;
  readonly points: number;
  readonly timestamp: string;
  readonly reason: string;
}

export interface Bundle {
  readonly users: readonly UserInput[];
  readonly boards: readonly BoardInput[];
  readonly pins: readonly PinInput[];
  readonly events: readonly EventInput[];
  readonly memberships: readonly MembershipInput[];
  readonly points: readonly PointsInput[];
  readonly adjustments: readonly AdjustmentInput[];
}

export const EMPTY_BUNDLE: Bundle = {
  users: [],
  boards: [],
  pins: [],
  events: [],
  memberships: [],
  points: [],
  adjustments: [],
};

/** Records of a bundle, which can also be deletions. */
export type BundleRecords = Readonly<Record<keyof Bundle, readonly object[]>>;

export type Format = 'csv' | 'ndjson';
type FlatRecord = Readonly<Record<string, Json>>;

/**
 * Writes one file for each kind of record in the bundle. Uses CSV only if all records of a kind
 * have the same fields, because a cell cannot distinguish an empty text from a missing field.
 */
export async function writeBundle(folder: string, bundle: BundleRecords, format: Format): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [kind, records] of Object.entries(bundle)) {
    if (records.length === 0) continue;
    const flat: FlatRecord[] = records.map(flatten);
    const uniform = new Set(flat.map((record) => Object.keys(record).join())).size === 1;
    const name = format === 'csv' && uniform ? `${kind}.csv` : `${kind}.ndjson`;
    const text = name.endsWith('.csv')
      ? renderCsv(flat)
      : flat.map((record) => `${renderJson(record)}\n`).join('');
    await writeFile(join(folder, name), text);
  }
}

function flatten(record: object): FlatRecord {
  const flat: Record<string, Json> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    if (name !== 'lms') flat[name] = value;
    else for (const [property, text] of Object.entries<string>(value)) flat[`lms.${property}`] = text;
  }
  return flat;
}

function renderCsv(records: readonly FlatRecord[]): string {
  const names = Object.keys(records[0] ?? {});
  const rows = records.map((record) => names.map((name) => renderCell(record[name] ?? '')));
  return [names, ...rows].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function renderCell(value: Json): string {
  const text = typeof value === 'string' ? value : renderJson(value);
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
