/** The records that a written record gives, and the reason to refuse it. */

import { readObject } from '../../src/ingest/fields/json.ts';
import { Refusal } from '../../src/ingest/fields/refusal.ts';
import { readRecord } from '../../src/ingest/records/records.ts';
import type { RecordKind } from '../../src/store/staging.ts';

const AT = { file: 0, line: 1 };

/** The kinds and records that a record gives, without their place. */
export function readAs(kind: RecordKind, value: Readonly<Record<string, unknown>>, isCells: boolean) {
  const taken: [string, Record<string, unknown>][] = [];
  readRecord(kind, { value, isCells }, AT, 7n, (taker, { file: _file, line: _line, ...record }) => {
    taken.push([taker, Object.fromEntries(Object.entries(record).filter(([, said]) => said !== undefined))]);
  });
  return taken;
}

export const fromJson = (kind: RecordKind, text: string) => readAs(kind, readObject(text), false);
export const fromCells = (kind: RecordKind, cells: Readonly<Record<string, string>>) =>
  readAs(kind, cells, true);

export function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return `${error.field}: ${error.reason}`;
    throw error;
  }
  return 'accepted';
}

export const EVENT = {
  type: 'pin',
  action: 'visited',
  owner_id: 1,
  actor_id: 2,
  board_id: 3,
  pin_id: 4,
  timestamp: '2018-03-12T17:00:45.567+00:00',
};
