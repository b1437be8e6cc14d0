/** All fuzz targets, by name. */
import { importTarget } from './importing.ts';
import { mutateFiles } from './mutations/documents.ts';
import { mutatePacked } from './mutations/packed.ts';
import { pullTarget } from './pulling.ts';
import {
  bundleCsv,
  bundleJson,
  bundleNdjson,
  caliperEnvelopes,
  discourseDocuments,
  moodleLogs,
  nestedEvents,
  parquetFiles,
  rosters,
  stackExchangeDumps,
  xapiStatements,
} from './seeds.ts';
import type { Target } from './target.ts';

const mutate = mutateFiles;

export const TARGETS: readonly Target[] = [
  importTarget({ name: 'ndjson', seeds: bundleNdjson, mutate }),
  importTarget({ name: 'csv', seeds: bundleCsv, mutate }),
  importTarget({ name: 'json', seeds: bundleJson, mutate }),
  importTarget({ name: 'nested-events', seeds: nestedEvents, mutate }),
  importTarget({ name: 'parquet', seeds: parquetFiles, mutate }),
  importTarget({ name: 'xapi', format: 'xapi', seeds: xapiStatements, mutate }),
  importTarget({ name: 'caliper', format: 'caliper', seeds: caliperEnvelopes, mutate }),
  importTarget({ name: 'moodle-log', format: 'moodle-log', seeds: moodleLogs, mutate }),
  importTarget({ name: 'discourse', format: 'discourse', seeds: discourseDocuments, mutate }),
  importTarget({ name: 'oneroster', format: 'oneroster', seeds: rosters, mutate }),
  importTarget({ name: 'stack-exchange', format: 'stack-exchange', seeds: stackExchangeDumps, mutate }),
  importTarget({ name: 'compressed', seeds: bundleNdjson, mutate: mutatePacked }),
  pullTarget,
];
