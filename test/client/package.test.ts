import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { complaintsAbout, installClient } from './installed.ts';

const run = promisify(execFile);

/** A program that imports only the installed package. */
const PROGRAM = `
import { openClient, ProblemError, type SyncBatch, type VariantA } from 'corkboard-client';

const client = openClient({ baseUrl: 'http://127.0.0.1:1/a', key: 'k', variant: 'a', retry: { retries: 0 } });

export async function titles(): Promise<string[]> {
  const found: string[] = [];
  for await (const event of client.events({ start: new Date(0), pageSize: 10 })) {
    const id: string = event.actor.id;
    if (event.pin !== undefined) found.push(id + event.pin.title);
  }
  return found;
}

export type Batch = SyncBatch<VariantA.Event>;
const other = openClient({ baseUrl: 'http://127.0.0.1:1/b', key: 'k', variant: 'b' });
// @ts-expect-error Variant B has no points.
other.pointsOfBoard;

export const code: string = await client.pointsOfBoard(7n).then(
  (points) => String(points['ada@example.org']?.total_points),
  (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
);
console.log(code);
`;

let folder: string;
let built: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corkboard-package-'));
  built = await installClient(folder);
});
after(() => rm(folder, { recursive: true }));

describe('corkboard-client, built', () => {
  it('imports only its own files', async () => {
    const files = await readdir(built);
    assert.ok(files.includes('client.js') && files.includes('client.d.ts'), String(files));
    for (const file of files.filter((name) => name.endsWith('.js'))) {
      const text = await readFile(join(built, file), 'utf8');
      for (const [, from = ''] of text.matchAll(/(?:from |import\()['"]([^'"]+)/g)) {
        assert.ok(files.includes(from.slice(2)), `${file} imports ${from}`);
      }
      assert.doesNotMatch(text, /\b(process|Buffer|require)\b[.(]/, file);
    }
  });

  it('has types for a program with the strictest compiler options, and runs', async () => {
    await writeFile(join(folder, 'program.ts'), PROGRAM);
    assert.equal(await complaintsAbout(folder, 'program.ts', ''), '');
    const program = await run(process.execPath, [join(folder, 'program.js')], { cwd: folder });
    assert.match(program.stdout, /^AnswerError: No response from http:\/\/127\.0\.0\.1:1\/a/);
  });
});
