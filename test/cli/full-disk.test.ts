/** Commands on a data folder on a full disk: a small tmpfs that the test mounts. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { fullDiskError } from '../../src/cli/process/full-disk.ts';
import { type Result, temporaryFolder } from './command.ts';

const run = promisify(execFile);
const STEPS = join(import.meta.dirname, 'full-disk-steps.ts');
/** A mount namespace, in which every user may mount and which ends with its process. */
const UNSHARE = ['unshare', '--map-root-user', '--mount', 'sh', '-c'] as const;
const MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1"';

interface Seen {
  readonly spooled: Result;
  readonly spilled: Result;
  /** Files of versions that this import left behind. */
  readonly left: readonly string[];
  readonly imported: Result;
  readonly beside: Result;
  readonly accepted: string;
  readonly alone: readonly Result[];
  readonly importedAlone: Result;
  readonly listed: readonly { readonly status: string }[];
}

const FULL = /^corkboard: The disk is full \(.*\)\. Free some space and run the command again\.\n$/;

const disk = join(temporaryFolder(), 'disk');
mkdirSync(disk);

function canMount(): boolean {
  try {
    const [command, ...options] = UNSHARE;
    execFileSync(command, [...options, MOUNT, 'sh', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it('a full disk is recognized in the messages of DuckDB', () => {
  const full = 'IO Error: Could not write all bytes to file: No space left on device';
  for (const message of [
    full,
    `Failed to append: ${full}`,
    'Failed to append: failed to offload data block of size',
  ])
    assert.ok(fullDiskError(new Error('wrapped', { cause: new Error(message) })) instanceof Error, message);
  assert.equal(fullDiskError(new Error('Failed to append: could not allocate block of size')), undefined);
});

describe('a full disk', { skip: canMount() ? false : 'a small disk cannot be mounted here' }, () => {
  let seen: Seen;
  before(async () => {
    const [command, ...options] = UNSHARE;
    const steps = `${MOUNT} && exec "$2" "$3" "$1"`;
    const { stdout } = await run(command, [...options, steps, 'sh', disk, process.execPath, STEPS]);
    seen = JSON.parse(stdout);
  });

  it('does not prevent revoking a key while a server runs, and the server refuses the key', () => {
    assert.deepEqual([seen.beside.code, seen.beside.stderr], [0, '']);
    assert.equal(seen.accepted, 'key-revoked');
  });

  it('does not prevent revoking keys one by one while no server runs', () => {
    for (const { code, stderr } of seen.alone) assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(
      seen.listed.map(({ status }) => status),
      ['revoked', 'revoked', 'revoked', 'active'],
    );
  });

  it('does not result from large Parquet input, which may use half of the space for temporary files', () => {
    assert.equal(seen.spooled.code, 1);
    assert.match(
      seen.spooled.stderr,
      /the Parquet data takes more than half of the room for temporary files/,
    );
  });

  it('is the cause that an import into a new organization reports, instead of a consequence', () => {
    for (const { code, stderr } of [seen.imported, seen.importedAlone]) {
      assert.equal(code, 1);
      assert.match(stderr, FULL);
    }
  });

  it('is reported by an import that has room for its records neither in memory nor on disk, and leaves no file', () => {
    assert.equal(seen.spilled.code, 1);
    const last = seen.spilled.stderr.split(/(?<=\n)/).at(-1) ?? '';
    assert.match(last, FULL);
    assert.match(last, /failed to offload data block/);
    assert.deepEqual(seen.left, []);
  });
});
