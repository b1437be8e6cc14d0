/**
 * Saves events byte for byte as the interface gives them, CSV in its form for spreadsheets, and
 * says how far it is.
 */
import { request } from '../api/client.ts';
import { countEvents, type Format } from './event-counter.ts';
import type { Sink } from './sink.ts';

export const MEDIA_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
};

export interface Progress {
  readonly events: number;
  readonly bytes: number;
}

/**
 * CSV is what people open in a spreadsheet, which must not run what somebody has written as a
 * formula.
 */
function pathAs(format: Format, path: string): string {
  return format === 'csv' ? `${path}${path.includes('?') ? '&' : '?'}excel=1` : path;
}

/** Throws when it breaks off; then the sink holds nothing. */
export async function saveEvents(
  path: string,
  format: Format,
  sink: Sink,
  signal: AbortSignal,
  tell: (progress: Progress) => void,
): Promise<Progress> {
  let progress: Progress = { events: 0, bytes: 0 };
  try {
    const { body } = await request(pathAs(format, path), { signal, accept: MEDIA_TYPES[format] });
    if (body === null) throw new Error('The answer has no bytes.');
    const counter = countEvents(format);
    const reader = body.getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      await sink.write(read.value);
      progress = { events: counter.add(read.value), bytes: progress.bytes + read.value.length };
      tell(progress);
    }
    await sink.close();
    return progress;
  } catch (error) {
    await sink.abort().catch(() => undefined);
    throw error;
  }
}
