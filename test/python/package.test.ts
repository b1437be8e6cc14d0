/**
 * The Python package, installed from its wheel into an empty environment, and its notebook, against
 * the demo; and its copy, against the one of `corkboard sync`.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { run, temporaryFolder } from '../cli/command.ts';
import { serving } from '../cli/serving.ts';
import { type Ended, lacking, runBlock, runs } from '../recipes/blocks.ts';

const ROOT = join(import.meta.dirname, '../../python');
const PYTHON = process.env['CORKBOARD_PYTHON'] ?? 'python3';
const skip = lacking(
  ['Python', () => runs(PYTHON, '--version')],
  ['venv of Python', () => runs(PYTHON, '-c', 'import venv, ensurepip')],
);

const folder = temporaryFolder();
const copy = join(folder, 'python.sqlite');

describe('the Python package', { skip }, () => {
  let url: string;
  let key: string;
  const ends: (() => void)[] = [];
  before(async () => {
    const words = ['demo', '--data', join(folder, 'data')];
    const demo = await serving({ after: (end) => ends.push(end) }, words, 'Key');
    url = demo.printed['Variant A'] ?? '';
    key = demo.printed['Key'] ?? '';
  });
  after(() => ends.forEach((end) => void end()));

  const environment = join(folder, 'environment');
  const python = join(environment, 'bin/python');
  const ended = async (...command: [string, ...string[]]): Promise<Ended> => {
    const variables = { CORKBOARD_URL: url, CORKBOARD_KEY: key, CORKBOARD_COPY: copy };
    const result = await runBlock(command, folder, variables);
    assert.equal(result.code, 0, result.stdout + result.stderr);
    return result;
  };

  it('is installed from a wheel, which is built without other packages', async () => {
    const { stdout } = await ended(PYTHON, join(ROOT, 'build_backend.py'), join(folder, 'wheels'));
    const wheel = stdout.trim();
    assert.match(wheel, /^corkboard_client-[\d.]+-py3-none-any\.whl$/);
    await ended(PYTHON, '-m', 'venv', environment);
    await ended(python, '-m', 'pip', 'install', '--quiet', '--no-index', join(folder, 'wheels', wheel));
  });

  it('reads what the server has', async (t) => {
    const { stderr } = await ended(
      python,
      '-m',
      'unittest',
      'discover',
      '--start-directory',
      join(ROOT, 'tests'),
    );
    const [, tests = '0'] = /Ran (\d+) tests/.exec(stderr) ?? [];
    t.diagnostic(`${tests} tests in Python`);
    assert.ok(Number(tests) >= 15, stderr);
  });

  it('shows in its notebook what the server counts', async () => {
    const runner = join(ROOT, 'tests/run_notebook.py');
    const { stdout } = await ended(python, runner, join(ROOT, 'examples/activity.ipynb'));
    const lines = stdout.split('\n');
    const base = url.replace(/a$/, '');
    const read = async (path: string) =>
      JSON.parse(await (await fetch(base + path, { headers: { apikey: key } })).text());
    const overview = await read('insights/v1/overview');
    assert.ok(lines.includes(overview.organization.name));
    const ranking: Ranked[] = await read('insights/v1/boards?top=8');
    for (const { board, events } of ranking) assert.ok(lines.includes(`${board.title}: ${events}`));
    const { board } = ranking[0]!;
    const records = Object.keys(await read(`a/v1/board/${board.id}/points`));
    assert.ok(lines.includes(`${records.length} people have points on ${board.title}`));
    const months = lines.slice(lines.indexOf('Events in each month') + 1).slice(0, 12);
    assert.ok(months.every((line) => /^20\d\d-\d\d: \d+$/.test(line)));
    assert.equal(lines.slice(lines.indexOf('Name | Points | Participation score')).length, 12);
  });

  it('makes the copy that corkboard sync makes, and continues it', async () => {
    const own = join(folder, 'command.sqlite');
    for (const [path, expected] of [
      [own, /events copied/],
      // The command adds the points.
      [copy, /^[\d,]+ points totals \(/],
    ] as const) {
      const words = ['sync', url, '--to', `sqlite:${path}`];
      const { code, stdout, stderr } = await run(words, { environment: { CORKBOARD_SYNC_KEY: key } });
      assert.equal(code, 0, stderr);
      assert.match(stdout, expected);
    }
    const [command, package_] = [contentOf(own), contentOf(copy)];
    assert.ok(command.events.length > 20_000);
    assert.deepEqual(package_, command);
    assert.ok(command.points.length > 0);
  });

  it('leaves no points of an earlier version in a copy that it continues', async () => {
    const code = `from corkboard_client import Client, SqliteCopy; import os
with SqliteCopy(os.environ["CORKBOARD_COPY"]) as copy:
    copy.update(Client(os.environ["CORKBOARD_URL"], os.environ["CORKBOARD_KEY"]))`;
    await ended(python, '-c', code);
    assert.deepEqual(contentOf(copy).points, []);
    const words = ['sync', url, '--to', `sqlite:${copy}`];
    const { stdout } = await run(words, { environment: { CORKBOARD_SYNC_KEY: key } });
    assert.match(stdout, /^[\d,]+ points totals \(/);
    assert.ok(contentOf(copy).points.length > 0);
  });
});

interface Ranked {
  readonly board: { readonly id: number; readonly title: string };
  readonly events: number;
}

/** Columns, keys, indexes and rows of all tables. */
function contentOf(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  const tables = ['events', 'users', 'boards', 'points', 'corkboard_sync'] as const;
  const columns = tables.map((table) => database.prepare(`PRAGMA table_info(${table})`).all());
  const indexes = database.prepare("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name").all();
  const rowsOf = (table: string, order = '1') => {
    const select = database.prepare(`SELECT * FROM ${table} ORDER BY ${order}`);
    select.setReadBigInts(true);
    return select.all();
  };
  const [events, users, boards] = [rowsOf('events'), rowsOf('users'), rowsOf('boards')];
  const points = rowsOf('points', 'board_id, user_id');
  database.close();
  return { columns, indexes, events, users, boards, points };
}
