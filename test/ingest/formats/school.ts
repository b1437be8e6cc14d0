/** An organization in a real store, into which files of other software are imported. */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Format } from '../../../src/ingest/formats/format.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { type ImportOptions, type ImportReport, importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { Settings } from '../../../src/store/store.ts';
import { everybodyOf } from '../../dataset/record-columns.ts';
import { makeFolder } from '../temporary-folder.ts';
import type { RosterFiles } from './oneroster-files.ts';

export async function openSchool(t: TestContext, settings: Partial<Settings> = {}) {
  const folder = await makeFolder(t);
  const store = await openFolderStore(join(folder, 'data'));
  t.after(() => store.close());
  await store.createOrganization('school', settings);
  return {
    rejects: join(folder, 'rejects.ndjson'),
    /** Imports a folder in a format, or with `as` files of a bundle. */
    async load(files: RosterFiles, options: Partial<ImportOptions> = {}, format: Format = oneroster) {
      const place = await mkdtemp(join(folder, 'files-'));
      for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text);
      const foreign = options.as === undefined ? { format, options: {} } : undefined;
      const paths = options.as === undefined ? [place] : Object.keys(files).map((name) => join(place, name));
      return await importBundle({ store, organization: 'school', paths, foreign, ...options });
    },
    async users() {
      const dataset = (await store.openDataset('school')) ?? assert.fail();
      try {
        return await everybodyOf(dataset.records('users'));
      } finally {
        await dataset.close();
      }
    },
  };
}

/** Each problem as it is printed, without the folder of its file. */
export function problemsOf({ problems }: ImportReport): readonly string[] {
  return problems.map(({ file, line, field, reason }) => `${basename(file)}:${line}: ${field}: ${reason}`);
}
