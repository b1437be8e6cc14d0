/** Folders with files for one test. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder with these files, removed after the test. */
export async function makeFolder(
  test: TestContext,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-ingest-'));
  test.after(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}
