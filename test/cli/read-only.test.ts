/** Commands on a data folder that can only be read. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Result, temporaryFolder } from './command.ts';

const run = promisify(execFile);
const STEPS = join(import.meta.dirname, 'read-only-steps.ts');
/** A mount namespace, in which every user may mount and which ends with its process. */
const UNSHARE = ['unshare', '--map-root-user', '--mount', 'sh', '-c'] as const;
const MOUNT = 'mount -t tmpfs -o size=64m tmpfs "$1"';
/** Permissions hold for root, too, once it has no capabilities. */
const WITHOUT_CAPABILITIES = 'setpriv --bounding-set=-all --inh-caps=-all';
const MOST_BYTES = 64 * 1024 * 1024;

interface Seen {
  readonly disk: string;
  readonly id: string;
  /** Size of a log of SQLite when the folder became read-only. */
  readonly logBytes: number;
  readonly expected: readonly [status: number, body: string];
  readonly served: {
    readonly users: readonly [status: number, body: string];
    readonly unknown: number;
    readonly ready: string;
  };
  readonly remarks: readonly string[];
  readonly commands: Readonly<Record<string, Result>>;
  readonly former: Readonly<Record<string, Result>>;
  readonly revoked: Result;
  readonly refused: Readonly<Record<string, Result>>;
  readonly restored: Result;
  readonly users: readonly [status: number, body: string];
  readonly exports: readonly [object, object];
  readonly spillFolder: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Temporary files after the commands. */
  readonly left: readonly string[];
}

const folder = temporaryFolder();

function canWithdraw(): boolean {
  const disk = join(folder, 'trial');
  mkdirSync(disk);
  try {
    const [command, ...options] = UNSHARE;
    execFileSync(command, [...options, `${MOUNT} && exec ${WITHOUT_CAPABILITIES} true`, 'sh', disk], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

const skip = canWithdraw() ? false : 'a small disk cannot be mounted here';
const REFUSED = /^corkboard: The data folder can only be read, so nothing was changed\. .*\n$/m;
const REFUSED_BACKUP =
  /^corkboard: The folder is a backup, so nothing was changed\. Restore it .* delete its files backup\.json and SHA256SUMS\.\n$/m;
for (const [means, title, wrapper, refused] of [
  ['mount', 'on a file system that is mounted read-only', '', REFUSED],
  ['permissions', 'without write permission', WITHOUT_CAPABILITIES, REFUSED],
  ['backup', 'that is a backup', '', REFUSED_BACKUP],
] as const) {
  describe(`a data folder ${title}`, { skip }, () => {
    let seen: Seen;
    before(async () => {
      const disk = join(folder, means);
      mkdirSync(disk);
      const [command, ...options] = UNSHARE;
      const steps = `${MOUNT} && exec ${wrapper} "$2" "$3" "$1" "$4"`;
      const words = ['sh', disk, process.execPath, STEPS, means];
      const temporary = join(folder, `${means}-temporary`);
      mkdirSync(temporary);
      const { stdout } = await run(command, [...options, steps, ...words], {
        maxBuffer: MOST_BYTES,
        env: { ...process.env, TMPDIR: temporary },
      });
      seen = JSON.parse(stdout);
    });

    it('is served as before, with the last changes of SQLite, and says once what is not written', () => {
      assert.ok(seen.logBytes > 0);
      assert.equal(seen.expected[0], 200);
      assert.deepEqual(seen.served.users, seen.expected);
      assert.equal(seen.served.unknown, 401);
      assert.equal(seen.served.ready, '{"status":"ready"}');
      const said = seen.remarks.filter((line) => line.includes('can only be read'));
      assert.equal(said.length, 1);
    });

    it('is listed, exported, backed up, copied and checked', () => {
      for (const [name, { code, stderr }] of Object.entries(seen.commands)) {
        assert.equal(code, 0, `${name}: ${stderr}`);
        const isRecorded = ['export', 'backup', 'copy'].includes(name);
        assert.equal(
          stderr.split('its audit has no record').length,
          isRecorded ? 2 : 1,
          `${name}: ${stderr}`,
        );
      }
      const { stdout } = seen.commands['check']!;
      assert.match(stdout, /^Note: The data folder can only be read/);
      assert.match(stdout, /found no damage\.\n$/);
      assert.ok(seen.commands['keys list']!.stdout.includes(seen.id));
      assert.match(seen.commands['audit']!.stdout, /keys create {2}school/);
      assert.match(seen.commands['points']!.stdout, /pin\.created on pin 70/);
    });

    it('is read when an earlier version of Corkboard wrote it', () => {
      for (const [name, { code, stderr }] of Object.entries(seen.former)) {
        assert.equal(code, 0, `${name}: ${stderr}`);
      }
    });

    it('is served without a key that is revoked when the folder can be written again', () => {
      assert.equal(seen.revoked.code, 0, seen.revoked.stderr);
    });

    it('is exported with the same bytes, and restored from its backup', () => {
      assert.deepEqual(seen.exports[1], seen.exports[0]);
      assert.equal(seen.restored.code, 0, seen.restored.stderr);
      assert.deepEqual(seen.users, seen.expected);
    });

    it('refuses each change with a sentence', () => {
      for (const [name, { code, stderr }] of Object.entries(seen.refused)) {
        assert.equal(code, 1, `${name}: ${stderr}`);
        assert.match(stderr, refused, name);
        assert.doesNotMatch(stderr, /bug|EROFS|EACCES|SQLITE/, name);
      }
    });

    it('gets no file and no change, and what DuckDB spills is elsewhere', () => {
      assert.deepEqual(seen.after, seen.before);
      assert.deepEqual(
        seen.left.filter((name) => name.startsWith('corkboard-import-')),
        [],
      );
      assert.ok(!seen.spillFolder.startsWith(`${seen.disk}/`));
    });
  });
}
