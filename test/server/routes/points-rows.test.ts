/** Rows of points that are too many for one read, and pages of them (decisions 18, 93). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { NO_REDACTION, type Redaction } from '../../../src/domain/redaction.ts';
import type { Scope } from '../../../src/domain/scope.ts';
import { EMPTY_BUNDLE } from '../../model/bundle.ts';
import { assertProblem, assertSuccess, get, nextOf, type Reply } from '../../model/client.ts';
import { type BothReadings, openBothReadings } from '../../model/deployment.ts';
import { readParquetRows, rowsOfJson } from '../../render/parquet-rows.ts';

const PATH = '/insights/v1/points';
const USERS = Array.from({ length: 1500 }, (_, at) => BigInt(at + 1));
const BOARDS = [7n, 8n, 9n];
/** More than `HELD_POINTS`, and than fit into a small response. */
const ROWS = USERS.length * BOARDS.length;

const BUNDLE = {
  ...EMPTY_BUNDLE,
  users: USERS.map((id) => ({ id, email: `user${id}@x.example`, name: `=User ${id}` })),
  boards: BOARDS.map((id) => ({ id, title: `Board "${id}"` })),
  memberships: BOARDS.flatMap((board_id) => USERS.map((user_id) => ({ board_id, user_id }))),
  points: USERS.map((user_id) => ({
    ...{ board_id: 8n, user_id, total_points: Number(user_id) * 1000, participation_score: 50 },
  })),
};

interface Row {
  readonly user_id: number;
  readonly board_id: number;
  readonly email: string;
}

let deployment: BothReadings;
let key: string;
before(async () => {
  deployment = await openBothReadings();
  await deployment.store.createOrganization('school', { title: '' });
  await deployment.load('school', BUNDLE);
  key = await deployment.makeKey('school');
});
after(() => deployment.close());

const makeRedacting = (redact: Redaction) => deployment.makeKey('school', { redact });

async function load(url: string, path: string, apikey = key): Promise<readonly Row[]> {
  const reply = await get(url + path, apikey);
  assertSuccess(reply);
  return JSON.parse(reply.text);
}

async function walk(url: string, path: string, apikey = key): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: Reply = await get(url + next, apikey);
    rows.push(...JSON.parse(page.text));
    next = nextOf(page);
  }
  return rows;
}

describe('many rows of points', () => {
  it('are the records of all boards, with the announced length, however the data is read', async () => {
    for (const url of deployment.urls) {
      const records: Row[] = [];
      for (const board of BOARDS) {
        const ofBoard = await get(`${url}/a/v1/board/${board}/points`, key);
        records.push(...(Object.values(JSON.parse(ofBoard.text)) as Row[]));
      }
      assert.equal(records.length, ROWS);
      for (const _ of ['measured', 'known']) {
        const rows = await load(url, PATH);
        assert.deepEqual(
          rows.map(({ user_id, board_id, email, ...row }) => ({ user_id, board_id, email, ...pick(row) })),
          records,
        );
      }
      const ofUser = await load(url, `${PATH}?user=3`);
      assert.deepEqual(
        ofUser,
        (await load(url, PATH)).filter(({ user_id }) => user_id === 3),
      );
    }
  });

  it('are the same as CSV, for spreadsheets, and as Parquet', async () => {
    for (const url of deployment.urls) {
      const rows = rowsOfJson((await get(url + PATH, key)).text);
      const csv = await get(`${url}${PATH}?format=csv`, key);
      assertSuccess(csv, 'text/csv');
      assert.deepEqual(
        parse(csv.text, { from: 2 }),
        rows.map((row) => row.map(String)),
      );
      const excel = await get(`${url}${PATH}?format=csv&excel=1`, key);
      assert.equal(excel.text, `\ufeff${csv.text.replaceAll(',=User', ",'=User")}`);
      const parquet = await fetch(`${url}${PATH}?format=parquet`, { headers: { apikey: key } });
      const read = await readParquetRows(new Uint8Array(await parquet.arrayBuffer()));
      assert.deepEqual(read.rows, rows);
      assert.deepEqual(
        read.columns.map(([, type]) => type),
        ['BIGINT', 'VARCHAR', 'VARCHAR', 'BIGINT', 'VARCHAR', 'BIGINT', 'BIGINT'],
      );
    }
  });

  it('are the same compressed, in parts and for HEAD, with one entity tag for each form', async () => {
    for (const url of deployment.urls) {
      const whole = await get(`${url}${PATH}?start=0`, key);
      const bytes = Buffer.from(whole.text);
      const send = (init: RequestInit & { readonly headers?: Record<string, string> }) =>
        fetch(`${url}${PATH}?start=0`, { ...init, headers: { apikey: key, ...init.headers } });
      const zipped = await send({ headers: { 'accept-encoding': 'gzip' } });
      assert.equal(zipped.headers.get('content-encoding'), 'gzip');
      assert.equal(await zipped.text(), whole.text);
      const identity = { 'accept-encoding': 'identity' };
      const head = await send({ method: 'HEAD', headers: identity });
      assert.equal(head.headers.get('content-length'), `${bytes.length}`);
      assert.equal(head.headers.get('etag'), whole.headers.get('etag'));
      const part = await send({ headers: { ...identity, range: 'bytes=100000-200000' } });
      assert.equal(part.status, 206);
      assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(100_000, 200_001));
    }
  });

  it('ascend by the pseudonyms of a key that redacts ids, in pages too', async () => {
    const redacting = await deployment.makeKey('school', { redact: { ...NO_REDACTION, id: true } });
    for (const url of deployment.urls) {
      const rows = await load(url, PATH, redacting);
      assert.deepEqual(await walk(url, `${PATH}?limit=700`, redacting), rows);
      assert.equal(rows.length, ROWS);
      const order = rows.toSorted(
        (one, other) => one.board_id - other.board_id || one.user_id - other.user_id,
      );
      assert.deepEqual(rows, order);
      assert.ok(rows.every(({ email }) => !email.endsWith('@x.example')));
    }
  });
});

describe('pages of points', () => {
  it('miss and repeat nothing that was there from the beginning, while data is published', async () => {
    const [url] = deployment.urls;
    const whole = await load(url, PATH);
    const first = await get(`${url}${PATH}?limit=1000`, key);
    const tag = async (of: string) => (await get(`${of}/a/v1/boards`, key)).headers.get('etag');
    const before = new Map<string, unknown>();
    for (const one of deployment.urls) before.set(one, await tag(one));
    await deployment.load('school', {
      ...EMPTY_BUNDLE,
      users: [{ id: -4n, email: 'early@x.example', name: 'Early' }],
      boards: [{ id: 3n, title: 'Early' }],
      memberships: [3n, 7n, 9n].map((board_id) => ({ board_id, user_id: -4n })),
    });
    // The following tests compare responses of one version, so both servers must have it.
    for (const one of deployment.urls) while ((await tag(one)) === before.get(one)) await delay(20);
    const rows = [...JSON.parse(first.text), ...(await walk(url, nextOf(first)!))];
    const added = rows.filter(({ user_id }: Row) => user_id === -4);
    assert.deepEqual(
      added.map(({ board_id }: Row) => board_id),
      [9],
    );
    assert.deepEqual(
      rows.filter(({ user_id }: Row) => user_id !== -4),
      whole,
    );
  });

  it('are the whole, however small they are and on whatever board they end', async () => {
    for (const url of deployment.urls) {
      const whole = await load(url, PATH);
      for (const limit of [1499, 1500, 1501, 4096])
        assert.deepEqual(await walk(url, `${PATH}?limit=${limit}`), whole, `${limit}`);
      const { text } = await get(`${url}${PATH}?limit=1`, key);
      assert.deepEqual(JSON.parse(text), whole.slice(0, 1));
    }
  });

  it('have cursors that belong to the scope and the redaction of their key', async () => {
    const [url] = deployment.urls;
    const next = nextOf(await get(`${url}${PATH}?limit=2`, key))!;
    const scope: Scope = { boards: [7n, 8n, 9n], users: 'all' };
    const redact = { ...NO_REDACTION, email: true };
    for (const other of [await deployment.makeKey('school', { scope }), await makeRedacting(redact)]) {
      assertProblem(await get(url + next, other), 400, 'cursor-scope-changed');
    }
    assertSuccess(await get(url + next, await deployment.makeKey('school')));
  });

  it('have cursors that belong to their filter', async () => {
    const [url] = deployment.urls;
    const page = await get(`${url}${PATH}?limit=2`, key);
    const cursor = new URL(nextOf(page)!, url).searchParams.get('cursor');
    const path = (query: string) => `${url}${PATH}?limit=2&cursor=${cursor}${query}`;
    assertSuccess(await get(path(''), key));
    for (const query of ['&board=7', '&user=3', '&start=0']) {
      assertProblem(await get(path(query), key), 400, 'cursor-malformed');
    }
  });
});

/** The numbers of a record, in its order. */
function pick(row: object): object {
  const { total_points, participation_score } = row as Record<string, unknown>;
  return { total_points, participation_score };
}
