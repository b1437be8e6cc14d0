/** Media types of the representations. Made by test/client/generate.ts. */

export const MEDIA_TYPES = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  excel: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  'event-stream': 'text/event-stream',
} as const;
