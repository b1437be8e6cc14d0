/** Imports of real files of other software, and counts of the results. */
import { type ImportOptions, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { RecordOf } from '../../../src/store/staging.ts';
import { openRecordingStore, type StagedRecord } from '../recording-store.ts';

type Choices = Pick<ImportOptions, 'paths' | 'foreign' | 'skipInvalid' | 'dryRun'>;

export async function importRecorded(options: Choices) {
  const store = openRecordingStore({ school: 7n });
  const report = await importBundle({ store, organization: 'school', ...options });
  return { report, records: store.published };
}

/** Imports the same files twice into a real store. */
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

/** The number of occurrences of each text, in the order of the texts. */
export function tally(texts: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1)));
}
