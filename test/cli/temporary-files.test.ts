/** The files that an interrupted import leaves in the folder for temporary files. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { until } from '../server/stand.ts';
import { run, start, temporaryFolder } from './command.ts';
import '../without-coverage.ts';

const folder = temporaryFolder();
const data = join(folder, 'data');
mkdirSync(data);
let temporary: string;
let count = 0;
beforeEach(() => {
  temporary = join(folder, `temporary-${++count}`);
  mkdirSync(temporary);
});
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
});
const made = () => readdirSync(temporary).filter((name) => name.startsWith('corkboard-'));
const environment = () => ({ TMPDIR: temporary });

const DRY_RUN = ['import', '-', '--as', 'users', '--organization', 'new', '--dry-run', '--data', data];
/** Enough for the import to detect the form of the input. */
const USER = '{"id":1,"email":"ada@example.org","name":"Ada","role":"user","class_role":""}\n';

/** An import that has a temporary folder, has written to it, and waits for more of its input. */
async function startImport(first: string, dataFolder = data): Promise<ChildProcess> {
  const before = made();
  const child = start([...DRY_RUN.slice(0, -1), dataFolder], environment());
  children.push(child);
  child.stdin?.write(first);
  const isInUse = (name: string) => readdirSync(join(temporary, name)).some((file) => file !== 'lock');
  await until(() => made().some((name) => !before.includes(name) && isInUse(name)));
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
  assert.equal(child.signalCode, signal);
}

describe('an import', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`leaves nothing of a dry run behind at ${signal}, and ends by the signal`, async () => {
      await end(await startImport(USER), signal);
      assert.deepEqual(made(), []);
    });
  }

  it('leaves nothing of a dry run without a data folder behind at SIGTERM', async () => {
    await end(await startImport(USER, join(folder, 'none')), 'SIGTERM');
    assert.deepEqual(made(), []);
    assert.equal(existsSync(join(folder, 'none')), false);
  });

  it('leaves nothing of Parquet on standard input behind at SIGTERM', async () => {
    const child = await startImport(`PAR1${'x'.repeat(100_000)}`);
    await until(() => made().some((name) => readdirSync(join(temporary, name)).includes('input.parquet')));
    await end(child, 'SIGTERM');
    assert.deepEqual(made(), []);
  });

  it('that was killed has its files removed by the next one, which keeps files in use', async () => {
    await end(await startImport(USER), 'SIGKILL');
    const [left] = made();
    const child = await startImport(USER);
    const [inUse] = made().filter((name) => name !== left);
    const { code, stderr } = await run(DRY_RUN, { input: USER, environment: environment() });
    assert.equal(code, 0, stderr);
    assert.deepEqual(made(), [inUse]);
    await end(child, 'SIGTERM');
    assert.deepEqual(made(), []);
  });

  it('does not remove the target of a symbolic link with the name of a temporary folder', async () => {
    const other = join(folder, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'lock'), '');
    symlinkSync(other, join(temporary, 'corkboard-import-link'));
    const { code, stderr } = await run(DRY_RUN, { input: USER, environment: environment() });
    assert.equal(code, 0, stderr);
    assert.deepEqual(readdirSync(other), ['lock']);
  });
});

/**
 * Prints how often the handler of a signal ran. Signals of a process to itself arrive in their
 * order, so a repeated SIGINT would arrive before SIGTERM.
 */
const HANDLING_PROGRAM = `
  const { removeFoldersOnSignals } = await import(process.argv[1]);
  removeFoldersOnSignals();
  let handled = 0;
  process.on('SIGINT', () => {
    handled += 1;
    process.kill(process.pid, 'SIGTERM');
  });
  process.on('SIGTERM', () => {
    console.log(handled);
    process.exit();
  });
  setInterval(() => undefined, 1e6);
  process.kill(process.pid, 'SIGINT');
`;

describe('a process that handles a signal itself', () => {
  it('receives it once, so that "demo" does not take it for a second one', () => {
    const module = new URL('../../src/system/temporary-folder.ts', import.meta.url).href;
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', HANDLING_PROGRAM, module]);
    assert.equal(String(printed), '1\n');
  });
});
