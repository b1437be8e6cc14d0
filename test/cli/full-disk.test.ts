/** Commands on a data folder on a full disk: a small tmpfs that the test mounts. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Result, temporaryFolder } from './command.ts';

const run = promisify(execFile);
const STEPS = join(import.meta.dirname, 'full-disk-steps.ts');
/** A mount namespace, in which every user may mount and which ends with its process. */
const UNSHARE = ['unshare', '--map-root-user', '--mount', 'sh', '-c'] as const;
const MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1"';

interface Seen {
  readonly spooled: Result;
  readonly imported: Result;
  readonly beside: Result;
  readonly accepted: string;
  readonly alone: readonly Result[];
  readonly importedAlone: Result;
  readonly listed: readonly { readonly status: string }[];
}

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
      assert.match(
        stderr,
        /^corkboard: The disk is full \(.*\)\. Free some space and run the command again\.\n$/,
      );
    }
  });
});
