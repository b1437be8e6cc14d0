import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { DuckDBConnection } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { openClient, type VariantA } from '../../src/client/client.ts';
import { serving } from '../cli/serving.ts';
import { SERVERS } from '../client/followed-servers.ts';
import { all, answering } from '../client/odd-server.ts';
import {
  type Block,
  blocksOf,
  type Ended,
  lacking,
  READERS_SECTION,
  runBlock,
  runs,
  unbalanced,
} from './blocks.ts';

// Set it to a Python with pandas and duckdb, if the default one lacks them.
const PYTHON = process.env['CORKBOARD_PYTHON'] ?? 'python3';
const RECIPES = blocksOf('recipes.md');

const CURL = ['curl', () => runs('curl', '--version')] as const;
const JQ = ['jq', () => runs('jq', '--version')] as const;
const PLAIN_PYTHON = ['Python', () => runs(PYTHON, '--version')] as const;
const PANDAS = ['pandas', () => runs(PYTHON, '-c', 'import pandas')] as const;
const PYARROW = ['pyarrow', () => runs(PYTHON, '-c', 'import pyarrow')] as const;
const DUCKDB = ['duckdb for Python', () => runs(PYTHON, '-c', 'import duckdb')] as const;
const R = [
  'R with httr2 and jsonlite',
  () => runs('Rscript', '-e', 'library(httr2); library(jsonlite)'),
] as const;

let folder: string;
let baseUrl: string;
let key: string;
let events: readonly VariantA.Event[];
let stop: () => void;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corkboard-recipes-'));
  const ends: (() => void)[] = [];
  const demo = await serving(
    { after: (end) => ends.push(end) },
    ['demo', '--data', join(folder, 'data')],
    'Key',
  );
  stop = () => ends.forEach((end) => void end());
  baseUrl = demo.printed['Variant A'] ?? '';
  key = demo.printed['Key'] ?? '';
  events = await all(openClient({ baseUrl, key, variant: 'a' }).events());
  assert.ok(events.length > 20_000);
});
after(() => {
  stop();
  rmSync(folder, { recursive: true });
});

function blockNamed(name: string): Block {
  const block = RECIPES.find((one) => one.name === name);
  assert.ok(block, `docs/recipes.md has no block ${name}`);
  return block;
}

/** Runs a block in the folder, against the demo or the given server. */
async function run(name: string, words: readonly string[] = [], url = baseUrl, itsKey = key): Promise<Ended> {
  const { language, code } = blockNamed(name);
  const file = join(folder, `${name.replaceAll(/\W+/g, '-')}.${language}`);
  writeFileSync(file, code);
  const program = { sh: 'sh', python: PYTHON, r: 'Rscript' }[language] ?? assert.fail(language);
  return await runBlock([program, file, ...words], folder, { CORKBOARD_URL: url, CORKBOARD_KEY: itsKey });
}

async function lines(name: string, ...words: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(name, words);
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n');
}

function written(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

function cellsIn(file: string): readonly (readonly string[])[] {
  return parse(written(file), { relax_column_count: false });
}

async function answerTo(path: string): Promise<string> {
  const response = await fetch(baseUrl + path, { headers: { apikey: key } });
  assert.equal(response.status, 200, path);
  return await response.text();
}

/** Passes requests on, and cuts the first response. `asked` gets the `Range` of each request. */
async function openCuttingFront(asked: (string | undefined)[]) {
  const server = createServer((incoming, outgoing) => {
    asked.push(incoming.headers.range);
    const { host, ...headers } = incoming.headers;
    const path = new URL(baseUrl).pathname + (incoming.url ?? '');
    const passed = request(new URL(path, baseUrl), { headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      if (asked.length > 1) response.pipe(outgoing);
      else response.once('data', (bytes) => outgoing.write(bytes, () => outgoing.destroy()));
    });
    passed.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** The number of occurrences of each text. */
function tallied(texts: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

describe('docs/recipes.md', () => {
  it('has only blocks that run here', () => {
    const here = readFileSync(import.meta.filename, 'utf8');
    const unknown = RECIPES.filter(
      ({ name }) => !here.includes(`'${name}'`) && !name.startsWith(READERS_SECTION),
    );
    assert.deepEqual(
      unknown.map(({ name }) => name),
      [],
    );
    assert.equal(RECIPES.length, 17);
  });
});

describe('the recipe with curl', { skip: lacking(CURL, JQ) }, () => {
  it('downloads all events into a file, and again only after a change', async () => {
    const counts = await lines('curl and jq 1');
    const expected = tallied(events.map(({ action }) => action));
    assert.deepEqual(
      new Map(
        counts.map((line) => line.trim().split(' ')).map(([count, action = '']) => [action, Number(count)]),
      ),
      expected,
    );
    const file = written('events.ndjson');
    assert.equal(file, await answerTo('/v1/events?format=ndjson'));
    assert.deepEqual(await lines('curl and jq 1'), counts);
    assert.equal(written('events.ndjson'), file, 'an answer without a body leaves the file');
  });

  it('downloads all events as Parquet, and again only after a change', async () => {
    await lines('Download as Parquet 1');
    const path = join(folder, 'events.parquet');
    const { mtimeMs } = statSync(path);
    const connection = await DuckDBConnection.create();
    const table = await connection.runAndReadAll(`SELECT action FROM read_parquet('${path}')`);
    assert.deepEqual(
      table.getRows().map(([action]) => action),
      events.map(({ action }) => action),
    );
    connection.closeSync();
    await lines('Download as Parquet 1');
    assert.equal(statSync(path).mtimeMs, mtimeMs, 'a response without a body leaves the file');
  });

  it('continues an interrupted download', async (t) => {
    const asked: (string | undefined)[] = [];
    const front = await openCuttingFront(asked);
    t.after(() => front.close());
    const name = 'Continue an interrupted download 1';
    const { code, stdout, stderr } = await run(name, [], front.url);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), String(events.length));
    assert.equal(written('events.ndjson'), await answerTo('/v1/events?format=ndjson'));
    assert.equal(asked.length, 2);
    assert.match(asked[1] ?? '', /^bytes=[1-9]\d*-$/);
  });

  it('downloads a month as CSV', async () => {
    await lines('curl and jq 2');
    assert.equal(
      written('march.csv'),
      await answerTo('/v1/events?start=1519862400000&end=1522540800000&format=csv'),
    );
  });

  it('follows the pages of a list', async () => {
    await lines('curl and jq 3');
    assert.equal(written('users.ndjson'), await answerTo('/v1/users?format=ndjson'));
  });

  it('downloads the scores of students for Moodle, and prints the largest', async () => {
    const printed = await lines('Scores of a board for the gradebook of an LMS 1');
    const points: VariantA.PointsMap = JSON.parse(await answerTo('/v1/board/62/points'));
    const scores = new Map(
      Object.values(points).map(({ email, participation_score }) => [email, participation_score]),
    );
    const [header, ...rows] = cellsIn('moodle.csv');
    assert.deepEqual(header, ['Email address', 'Participation']);
    assert.ok(rows.length > 10 && rows.length < scores.size);
    for (const [email = '', score] of rows) assert.equal(Number(score), scores.get(email));
    assert.deepEqual(printed.map(Number), [Math.max(...rows.map(([, score]) => Number(score)))]);
  });

  it('downloads scores for Canvas, with the goal of the board as the points possible', async () => {
    await lines('Scores of a board for the gradebook of an LMS 2');
    const [, possible, ...rows] = cellsIn('canvas.csv');
    assert.equal(possible?.at(-1), '50');
    assert.ok(rows.length > 10);
    for (const [name = ''] of rows) assert.doesNotMatch(name, /^,|,\s*$/);
  });

  it('fails if the server refuses', async () => {
    const { code, stderr } = await run('curl and jq 3', [], baseUrl, 'cork_no_key');
    assert.notEqual(code, 0);
    assert.match(stderr, /401/);
  });
});

describe('the recipe with Python', { skip: lacking(PLAIN_PYTHON) }, () => {
  for (const { name, language, code } of RECIPES.filter((block) => block.language === 'python')) {
    it(`${name} compiles`, async () => {
      const file = join(folder, `compiled.${language}`);
      writeFileSync(file, code);
      const { code: exit, stderr } = await runBlock([PYTHON, '-m', 'py_compile', file], folder, {});
      assert.equal(exit, 0, stderr);
    });
  }

  it('counts the same users per week as the insights', async () => {
    const response = await fetch(baseUrl.replace(/a$/, 'insights/v1/activity?interval=week'), {
      headers: { apikey: key },
    });
    const activity: { readonly people: readonly number[] } = JSON.parse(await response.text());
    const printed = await lines('Python 1');
    assert.deepEqual(
      printed.map((line) => Number(line.split(' ')[1])),
      activity.people.filter((count) => count > 0),
    );
    assert.match(printed[0] ?? '', /^20\d\d-W\d\d \d+$/);
  });

  it('detects a response that was cut short', async (t) => {
    const server = await answering(t, (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-length': '9999' });
      response.write(`${JSON.stringify(events[0])}\n`, () => response.socket?.end());
    });
    for (const name of ['Python 1', ...(lacking(DUCKDB) ? [] : ['DuckDB 1', 'DuckDB 2'])]) {
      const { code, stderr } = await run(name, [], `${server.url}/a`);
      assert.deepEqual([code, stderr], [1, 'The response was cut short.\n'], name);
    }
  });

  for (const [name, ...needs] of [['pandas 1', PANDAS, PYARROW] as const, ['pandas 2', PANDAS] as const]) {
    it(`${name} counts by month and action`, { skip: lacking(...needs) }, async () => {
      const [head = '', , ...rows] = await lines(name);
      const actions = head.trim().split(/\s+/).slice(1);
      const counted = rows.flatMap((row) => {
        const [month, ...counts] = row.trim().split(/\s+/);
        return counts.map((count, index) => [`${month} ${actions[index]}`, Number(count)] as const);
      });
      const expected = tallied(events.map(({ timestamp, action }) => `${timestamp.slice(0, 7)} ${action}`));
      assert.deepEqual(new Map(counted.filter(([, count]) => count > 0)), expected);
    });
  }

  for (const name of ['DuckDB 1', 'DuckDB 2']) {
    it(`${name} finds the busiest boards`, { skip: lacking(DUCKDB) }, async () => {
      const busiest = [...tallied(events.map(({ board }) => board.id))].sort(
        ([, one], [, other]) => other - one,
      );
      const rows = (await lines(name)).map((line) => line.split('\t'));
      assert.deepEqual(
        rows.map(([count]) => Number(count)),
        busiest.slice(0, 10).map(([, count]) => count),
      );
      const users = new Set(
        events.filter(({ board }) => board.id === busiest[0]?.[0]).map(({ actor }) => actor.id),
      );
      assert.equal(Number(rows[0]?.[1]), users.size);
    });
  }

  for (const { name, open } of SERVERS) {
    it(`keeps a warehouse up to date ${name}`, async (t) => {
      const followed = await open();
      t.after(() => followed.close());
      const file = `${name.replaceAll(' ', '-')}.db`;
      const update = async () => {
        const { code, stdout, stderr } = await run(
          'Keep a warehouse up to date 1',
          [file],
          followed.baseUrl,
          followed.key,
        );
        assert.equal(code, 0, stderr);
        const database = new DatabaseSync(join(folder, file));
        const kept = database
          .prepare('SELECT event FROM events')
          .all()
          .map(({ event }) => withoutSyncId(String(event)));
        database.close();
        assert.deepEqual(kept.sort(), (await textOf(followed.baseUrl, followed.key)).sort());
        return stdout;
      };
      assert.equal(await update(), '0 events\n');
      const many = Array.from({ length: 2_500 }, (_, index) => ({
        actor: 1 + (index % 3),
        owner: 1,
        board: 7,
      }));
      await followed.add(...many);
      assert.equal(await update(), '2500 events\n');
      await followed.rename(2, 'Another name');
      await followed.forget(1);
      await followed.add({ actor: 2, owner: 3, board: 8 });
      assert.equal(await update(), '1667 events\n');
      await followed.forget(3);
      await followed.invalidateTokens();
      assert.equal(await update(), '834 events\n');
    });
  }
});

/** All events of a server as exact JSON texts. */
async function textOf(url: string, itsKey: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/events?format=ndjson`, { headers: { apikey: itsKey } });
  return (await response.text()).split('\n').slice(0, -1);
}

/** Python writes JSON with spaces, and ids exactly; texts are compared to keep both exact. */
function withoutSyncId(json: string): string {
  return json.replaceAll(/([:,]) (?=["{[\d])/g, '$1').replace(/,"sync_id":"[^"]+"/, '');
}

describe('the recipe with R', () => {
  it('requests existing data and has balanced brackets, checked even without R', async () => {
    const { code } = blockNamed('R 1');
    assert.equal(unbalanced(code), '');
    const asked = [...code.matchAll(/api_request\(("[^)]+)\)/g)].map(([, words = '']) =>
      words.replaceAll(/[", ]+/g, '/'),
    );
    const [list = '', points = ''] = await Promise.all(
      asked.map((path) => answerTo(`/v1${path.slice(0, -1)}`)),
    );
    assert.ok(list.includes('"timestamp":') && list.includes('"action":'));
    assert.ok(points.includes('"participation_score":'));
  });

  it('counts events and summarizes scores', { skip: lacking(R) }, async () => {
    const printed = (await lines('R 1')).join('\n');
    const [first] = events;
    assert.match(printed, new RegExp(`${first?.timestamp.slice(0, 7)}\\s+\\d`));
    assert.match(printed, /Median/);
  });
});

describe('the recipe with Power Query', () => {
  it('requests existing data (it cannot be run here)', async () => {
    const { code } = blockNamed('Excel and Power BI 1');
    const [, path = ''] = /RelativePath = "([^"]+)"/.exec(code) ?? [];
    const query = [...(/Query = \[([^\]]+)\]/.exec(code)?.[1] ?? '').matchAll(/(\w+) = "([^"]+)"/g)];
    const parameters = new URLSearchParams(Object.fromEntries(query.map(([, name, value]) => [name, value])));
    const csv = await answerTo(`${path.replace(/^a/, '')}?${parameters}`);
    const columns = csv.slice(0, csv.indexOf('\r\n')).split(',');
    const typed = [...code.matchAll(/\{"(\w+)", type/g)].map(([, name = '']) => name);
    assert.equal(typed.length, 4);
    assert.deepEqual(
      typed.filter((name) => !columns.includes(name)),
      [],
    );
    assert.equal(unbalanced(code), '');
  });
});
