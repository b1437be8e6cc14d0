/**
 * Determines the organization of the events in a bundle before an import creates it (decision 28).
 */
import type { Settings } from '../store/store.ts';
import { Refusal } from './fields/refusal.ts';
import type { OpenInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import { PlainEvents } from './records/plain-events.ts';
import { readRecords } from './records/reading.ts';
import type { Reading } from './records/record-reading.ts';
import { readIdentity } from './records/records.ts';

/**
 * Identity of the organization in the first nested event at the beginning of each input of events;
 * empty if there is none. The inputs can be read again afterwards.
 */
export async function findIdentity(
  inputs: readonly OpenInput[],
  readParquet: ReadParquet,
): Promise<Partial<Settings>> {
  for (const open of inputs) {
    // Parquet is read from the end of the file, so a stream would have to be buffered completely.
    const isStream = open.form.format === 'parquet' && open.input.byteLength === undefined;
    if (open.input.kind !== 'events' || open.input.foreign !== undefined || isStream) continue;
    for await (const readings of readRecords(open, { readParquet, isLast: false })) {
      if (readings instanceof PlainEvents || readings.length === 0) continue;
      for (const reading of readings) {
        const identity = identityOf(reading);
        if (identity !== undefined) return identity;
      }
      break;
    }
  }
  return {};
}

function identityOf(reading: Reading): Partial<Settings> | undefined {
  try {
    return readIdentity(reading.read());
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
