/** The remark before an import for which the disk may not suffice. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { checkMemory, checkRoom } from '../../src/cli/process/import-room.ts';

/** What is printed to standard error meanwhile. */
function remarks(work: () => void): string {
  const { write } = process.stderr;
  let printed = '';
  process.stderr.write = (text: string | Uint8Array) => {
    printed += text;
    return true;
  };
  try {
    work();
  } finally {
    process.stderr.write = write;
  }
  return printed;
}

it('an import that may fill the disk says so, with the folder and both sizes', () => {
  const folder = join(tmpdir(), 'not', 'yet', 'created');
  const said = remarks(() => checkRoom(folder, 1e18));
  assert.match(said, /^The disk may not suffice: this import takes about 2600000000\.0 GB in /);
  assert.ok(said.includes(folder));
  assert.match(said, /, and [\d.]+ GB are free\. If it does not, nothing is published\.\n$/);
});

it('an import that fits, or a small one, says nothing', () => {
  assert.equal(
    remarks(() => checkRoom(tmpdir(), 1e6)),
    '',
  );
  assert.equal(
    remarks(() => checkRoom(tmpdir(), 0)),
    '',
  );
});

it('an import that may need more memory than is allowed says so, with both sizes', () => {
  const said = remarks(() => checkMemory(0.4e9, 9.6e9));
  assert.match(said, /^The memory may not suffice: this import takes up to 0\.7 GB .* 0\.4 GB are allowed/);
  for (const [allowed, input] of [
    [2e9, 9.6e9],
    [0, 1e6],
  ] as const) {
    assert.equal(
      remarks(() => checkMemory(allowed, input)),
      '',
    );
  }
});
