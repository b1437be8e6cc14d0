/**
 * Saves the events of a response byte for byte, CSV in its form for spreadsheets, and reports its
 * progress.
 */
import { insightQuery } from '../../../src/client/insights.ts';
import { MEDIA_TYPES } from '../../../src/client/media-types.ts';
import { readBytes } from '../../../src/client/reading.ts';
import { PATHS } from '../../../src/client/schema-insights.ts';
import { send } from '../../../src/client/sending.ts';
import { loseRefusedKey, openApi } from '../api/client.ts';
import type { EventFilter } from '../api/queries.ts';
import { countEvents, type Format } from './event-counter.ts';
import type { Sink } from './sink.ts';

export interface Progress {
  /** Undefined in a format that cannot be counted. */
  readonly events: number | undefined;
  readonly bytes: number;
}

/** Throws if the export is interrupted; then the sink is empty. */
export async function saveEvents(
  filter: EventFilter,
  format: Format,
  sink: Sink,
  signal: AbortSignal,
  tell: (progress: Progress) => void,
): Promise<Progress> {
  let progress: Progress = { events: undefined, bytes: 0 };
  try {
    // People open CSV in a spreadsheet, which must not run text of users as a formula.
    const query = { ...insightQuery(filter), excel: format === 'csv' ? '1' : undefined };
    const request = { path: PATHS.findEvents, query, accept: MEDIA_TYPES[format], signal };
    const counter = countEvents(format);
    for await (const bytes of readBytes(await send(openApi().origin, request), signal)) {
      await sink.write(bytes);
      progress = { events: counter.add(bytes), bytes: progress.bytes + bytes.length };
      tell(progress);
    }
    await sink.close();
    return progress;
  } catch (error) {
    await sink.abort().catch(() => undefined);
    loseRefusedKey(error);
    throw error;
  }
}
