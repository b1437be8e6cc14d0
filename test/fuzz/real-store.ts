/**
 * An import into a real store that already has a version: it publishes a new version, or changes
 * nothing at all.
 */
import { readdirSync, rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportBundle } from '../../src/export/export.ts';
import { type ImportOptions, type ImportReport, importBundle } from '../../src/ingest/import.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { writeParquet } from '../../src/store/version/parquet/parquet-writer.ts';
import { writeBundle } from '../model/bundle.ts';
import { WORLD } from '../world.ts';
import type { Sandbox } from './sandbox.ts';
import { type Complaint, complaintsOf } from './target.ts';

const NAME = 'school';

/** A data folder with the fixture data, to be copied for each case. */
export interface RealStore {
  readonly folder: string;
}

let prepared: Promise<RealStore> | undefined;

/** Shared by all targets of a process; removed when the process ends. */
export function sharedRealStore(): Promise<RealStore> {
  prepared ??= prepareRealStore();
  return prepared;
}

async function prepareRealStore(): Promise<RealStore> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-seed-'));
  const bundle = join(folder, 'bundle');
  await writeBundle(bundle, WORLD, 'ndjson');
  const store = await openFolderStore(join(folder, 'data'));
  try {
    await store.createOrganization(NAME, { id: 7n });
    await importBundle({ store, organization: NAME, paths: [bundle] });
  } finally {
    await store.close();
  }
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return { folder: join(folder, 'data') };
}

export async function importIntoRealStore(
  options: Omit<ImportOptions, 'store' | 'organization'>,
  sandbox: Sandbox,
  { folder }: RealStore,
): Promise<readonly Complaint[]> {
  const data = join(sandbox.work, 'data');
  await cp(folder, data, { recursive: true });
  const versions = () =>
    readdirSync(join(data, 'organizations', NAME, 'generations'))
      .sort()
      .join();
  const before = versions();
  const store = await openFolderStore(data);
  const complaints: Complaint[] = [];
  try {
    const version = await store.currentVersion(NAME);
    const report = await importBundle({ store, organization: NAME, ...options }).catch((error: unknown) => {
      complaints.push(...complaintsOf(error));
      return undefined;
    });
    const isNew = (await store.currentVersion(NAME)) !== version;
    if (isNew !== (report?.published ?? false))
      complaints.push(
        half(`the report says ${report?.outcome}, but the version is ${isNew ? 'new' : 'the same'}`),
      );
    if (!isNew && versions() !== before)
      complaints.push(half('files of a version that is not published are left'));
    if (report?.published) complaints.push(...(await judgePublished(store, data, report)));
  } finally {
    await store.close();
  }
  return complaints;
}

function half(what: string): Complaint {
  return { kind: 'half published', what };
}

/** A published version can be read, exported, and imported again. */
async function judgePublished(
  store: VersionStore,
  data: string,
  report: ImportReport,
): Promise<readonly Complaint[]> {
  const dataset = await store.openDataset(NAME);
  const counts = dataset?.counts;
  await dataset?.close();
  const exported = join(data, '../exported');
  const original = await store.openRows(NAME);
  try {
    await exportBundle({ original, folder: exported, format: 'ndjson', compression: 'none', writeParquet });
  } finally {
    await original.close();
  }
  const again = await importElsewhere(join(data, '../elsewhere'), exported);
  const [problem] = again.problems;
  if (problem !== undefined) {
    return [{ kind: 'export not importable', what: `${problem.field}: ${problem.reason}` }];
  }
  const same = [counts, again.counts].every((one) => JSON.stringify(one) === JSON.stringify(report.counts));
  return same ? [] : [half(`counts differ: ${JSON.stringify([report.counts, counts, again.counts])}`)];
}

/**
 * Imports into a new store, where the organization is created with the identity from the export.
 */
async function importElsewhere(data: string, bundle: string): Promise<ImportReport> {
  const store = await openFolderStore(data);
  try {
    return await importBundle({ store, organization: NAME, paths: [bundle], readParquet });
  } finally {
    await store.close();
  }
}
