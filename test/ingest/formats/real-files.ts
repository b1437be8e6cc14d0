/** Real files of other software, which lie beside the checkout, and counts of what an import made of them. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordOf } from '../../../src/dataset/staging.ts';
import { type ImportOptions, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/open-folder.ts';
import { openRecordingStore, type StagedRecord } from '../recording-store.ts';

const DATA = join(import.meta.dirname, '../../../../shared/data');

/** CI has the data beside the checkout and must not pass without it. */
export function skipWithout(folder: string): string | false {
  const isThere = existsSync(join(DATA, folder)) || process.env['CI'] !== undefined;
  return isThere ? false : `needs ../shared/data/${folder}`;
}

export function realFiles(folder: string): string[] {
  return readdirSync(join(DATA, folder))
    .sort()
    .map((name) => join(DATA, folder, name));
}

type Choices = Pick<ImportOptions, 'paths' | 'foreign' | 'skipInvalid' | 'dryRun'>;

export async function importRecorded(options: Choices) {
  const store = openRecordingStore({ school: 7n });
  const report = await importBundle({ store, organization: 'school', ...options });
  return { report, records: store.published };
}

/** Two imports of the same into a real store. */
export async function importTwice(folder: string, options: Choices) {
  const store = await openFolderStore(folder);
  try {
    const first = await importBundle({ store, organization: 'school', ...options });
    const second = await importBundle({ store, organization: 'school', ...options });
    return [first, second] as const;
  } finally {
    await store.close();
  }
}

export function eventsOf(records: readonly StagedRecord[]): RecordOf['events'][] {
  return records.filter(({ kind }) => kind === 'events').map(({ record }) => record as RecordOf['events']);
}

/** How often each text comes, in the order of the texts. */
export function tally(texts: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
}
