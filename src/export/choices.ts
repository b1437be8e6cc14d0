/** The formats of an export. The export itself is in `export.ts`. */

export const EXPORT_FORMATS = ['ndjson', 'csv', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Compressions of NDJSON and CSV files. */
export const EXPORT_COMPRESSIONS = ['none', 'gzip', 'zstd'] as const;
export type ExportCompression = (typeof EXPORT_COMPRESSIONS)[number];
