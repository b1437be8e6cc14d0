/** Small files to import, and an import of them into a recording store. */
import type { TestContext } from 'node:test';
import { type ImportOptions, type ImportReport, importBundle } from '../../src/ingest/import.ts';
import { openRecordingStore, type RecordingStore } from './recording-store.ts';
import { makeFolder } from './temporary-folder.ts';

export const USERS = 'id,email,name\n1,ada@x.example,Ada\n2,bob@x.example,Bob\n';
export const BOARDS = '{"id":3,"title":"Board"}\n\n{"id":4,"title":"Other"}\n';
export const EVENTS = [5, 6].map((timestamp) => ({
  type: 'board',
  action: 'followed',
  owner_id: 1,
  actor_id: 2,
  board_id: 3,
  timestamp,
}));
export const person = (id: number) => ({
  id,
  email: `u${id}@x.example`,
  name: `U${id}`,
  role: 'user',
  class_role: '',
});
export const nestedEvent = (timestamp: number, organizationId = 70) => ({
  type: 'board',
  action: 'followed',
  owner: person(1),
  actor: person(2),
  organization: { id: organizationId, name: 'School', domain: 'x.example', category_id: 9 },
  board: { id: 3, title: 'Board', category: '' },
  timestamp,
});

export interface Imported {
  readonly report: ImportReport;
  readonly store: RecordingStore;
  readonly folder: string;
}

/** Imports a folder with these files into the organization `school`, which has the id 7. */
export async function importFiles(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Partial<ImportOptions> = {},
): Promise<Imported> {
  const folder = await makeFolder(t, files);
  const store = openRecordingStore({ school: 7n });
  const report = await importBundle({ store, organization: 'school', paths: [folder], ...options });
  return { report, store, folder };
}

/** Problems with file names without their folder. */
export function problemsOf({ report, folder }: Imported): (string | number)[][] {
  return report.problems.map(({ file, line, field, reason }) => [
    file.slice(folder.length + 1),
    line,
    field,
    reason,
  ]);
}

export const lines = (values: readonly unknown[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');
