/**
 * What exists under the name of an output and is not a regular file: it is written into if that
 * makes sense, and otherwise refused, but never replaced.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
const school = ['--organization', 'school', '--data', data];
const users = join(folder, 'users.csv');
const NO_DEV = existsSync('/dev/shm') ? false : 'there is no /dev/shm';
const IS_ROOT = process.getuid?.() === 0;

/** What can be made at a path. Only root can make a device, or destroy one. */
const KINDS: Readonly<Record<string, (path: string) => unknown>> = {
  ...(IS_ROOT && { device: (path) => execFileSync('mknod', [path, 'c', '1', '3']) }),
  pipe: (path) => execFileSync('mkfifo', [path]),
  async socket(path) {
    const server = createServer().unref();
    await new Promise<void>((resolve) => server.listen(path, resolve));
  },
  folder(path) {
    mkdirSync(path);
    writeFileSync(join(path, 'kept'), '');
  },
  ...(IS_ROOT && {
    'link to a device'(path) {
      execFileSync('mknod', [`${path}-itself`, 'c', '1', '3']);
      symlinkSync(`${path}-itself`, path);
    },
  }),
  'link to a pipe'(path) {
    execFileSync('mkfifo', [`${path}-itself`]);
    symlinkSync(`${path}-itself`, path);
  },
};

/** Every option and argument that names an output, except `--skip-invalid`. */
const OUTPUTS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  'export FOLDER': (path) => ['export', path, ...school],
  'export FOLDER of a user': (path) => ['export', path, '--user', '1', ...school],
  'backup FOLDER': (path) => ['backup', path, '--data', data],
  'copy --to': (path) => ['copy', '--from', data, '--to', path],
  'import --data': (path) => ['import', users, '--organization', 'school', '--data', path],
  'sync --to duckdb:FILE': (path) => ['sync', 'http://127.0.0.1:1/a', '--to', `duckdb:${path}`],
  'sync --to sqlite:FILE': (path) => ['sync', 'http://127.0.0.1:1/a', '--to', `sqlite:${path}`],
  'sync --to parquet:FOLDER': (path) => ['sync', 'http://127.0.0.1:1/a', '--to', `parquet:${path}`],
};
/** A folder is what these commands want, and its files stay. */
const FOLDER_IS_RIGHT = ['copy --to', 'import --data', 'sync --to parquet:FOLDER'];

let count = 0;

/** Something in a folder of its own, and what the folder contains. */
async function make(kind: string) {
  count += 1;
  const place = join(folder, `place-${count}`);
  mkdirSync(place);
  const path = join(place, 'out');
  await KINDS[kind]!(path);
  const look = () =>
    readdirSync(place, { recursive: true }).map((name) => {
      const { ino, mode, size } = lstatSync(join(place, String(name)));
      return [name, ino, mode, size];
    });
  return { path, look };
}

before(async () => {
  writeFileSync(users, 'id,email,name\n1,ada@x.example,Ada\nx,bob@x.example,Bob\n');
  const words = ['import', users, '--skip-invalid', join(folder, 'rejects'), ...school];
  assert.equal((await runJson(words)).rejected, 1);
});

describe('an output that exists', () => {
  for (const [name, words] of Object.entries(OUTPUTS)) {
    for (const kind of Object.keys(KINDS)) {
      if (kind === 'folder' && FOLDER_IS_RIGHT.includes(name)) continue;
      it(`as a ${kind} is refused by ${name} and stays`, async () => {
        const { path, look } = await make(kind);
        const before = look();
        const environment = { CORKBOARD_SYNC_KEY: 'cork_abcdefghijkl_abcdefghijklmnopqrstuvwxyz' };
        const { code, stderr } = await run(words(path), { environment });
        assert.match(stderr, /^corkboard: /);
        assert.ok(stderr.includes(path), stderr);
        assert.doesNotMatch(stderr, /\bat \S+:\d+:\d+|EISDIR|bug/);
        assert.ok(code === 1 || code === 2);
        assert.deepEqual(look(), before);
      });
    }
  }
});

describe('import --skip-invalid', () => {
  const importInto = (path: string, ...more: string[]) =>
    run(['import', users, '--skip-invalid', path, ...more, ...school]);

  for (const kind of Object.keys(KINDS).filter((name) => /device|pipe/.test(name))) {
    it(`writes into a ${kind}, which stays`, async () => {
      const { path, look } = await make(kind);
      const before = look();
      const reader = kind.includes('pipe') && read(path);
      const { code, stderr } = await importInto(path);
      assert.equal(code, 0, stderr);
      assert.deepEqual(look(), before);
      if (reader) assert.equal(JSON.parse(await reader).record, 'x,bob@x.example,Bob');
    });
  }

  for (const kind of ['folder', 'socket']) {
    it(`refuses a ${kind} before it reads a record`, async () => {
      const { path, look } = await make(kind);
      const before = look();
      const { code, stderr } = await importInto(path);
      assert.equal(code, 2);
      assert.equal(
        stderr,
        `corkboard: Cannot write the file of --skip-invalid, ${path}: it is a ${kind}. Use a file.\n`,
      );
      assert.deepEqual(look(), before);
    });
  }

  it('replaces the file that a link names, and not the link', async () => {
    const [file, link] = [join(folder, 'linked'), join(folder, 'link')];
    writeFileSync(file, 'old');
    symlinkSync(file, link);
    assert.equal((await importInto(link)).code, 0);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).line, 3);
  });

  it('replaces a file in /dev like any other, and adds to an open file', { skip: NO_DEV }, async (t) => {
    const file = join('/dev/shm', `corkboard-${process.pid}`);
    const open = `${file}-open`;
    t.after(() => [file, open].forEach((path) => void rmSync(path, { force: true })));
    symlinkSync(file, open);
    for (const path of [file, file, open]) assert.equal((await importInto(path)).code, 0);
    assert.ok(lstatSync(open).isSymbolicLink());
    assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 2);
  });

  it('writes nothing in a dry run, and still refuses what it could not write', async () => {
    const { path, look } = await make('folder');
    const before = look();
    const file = join(path, 'rejects');
    const { code, stdout } = await importInto(file, '--dry-run');
    assert.equal(code, 0);
    assert.match(stdout, /^Rejected records: 1$/m);
    assert.equal((await importInto(path, '--dry-run')).code, 2);
    assert.deepEqual(look(), before);
  });
});

/** Opening a pipe waits for the other end, so the reader is a process of its own. */
async function read(path: string): Promise<string> {
  const { execFile } = await import('node:child_process');
  return await new Promise((resolve, reject) => {
    execFile('cat', [path], (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
}
