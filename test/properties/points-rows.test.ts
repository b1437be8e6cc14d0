/** `/insights/v1/points`, compared with the model and with the points routes (decision 93). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import type { TimeRange } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { pointsRowsOf } from '../model/answers.ts';
import {
  BOARD_IDS,
  organizationArbitrary,
  rangeArbitrary,
  redactionArbitrary,
  scopeArbitrary,
  USER_IDS,
} from '../model/arbitrary.ts';
import { assertProblem, assertSuccess, get, nextOf, type Reply } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { parseExact } from '../model/insights-model.ts';
import { renderJson } from '../model/json.ts';
import { runs } from '../model/runs.ts';
import { readParquetRows, rowsOfJson } from '../render/parquet-rows.ts';

const PATH = '/insights/v1/points';
const COLUMNS = 'user_id,email,name,board_id,board_title,total_points,participation_score';

const anyScope = fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary);
const askedArbitrary = fc.record({
  range: fc.oneof(fc.constant<TimeRange>({}), rangeArbitrary),
  board: fc.option(fc.constantFrom(...BOARD_IDS), { nil: undefined, freq: 2 }),
  user: fc.option(fc.constantFrom(...USER_IDS), { nil: undefined, freq: 2 }),
});
type AskedPoints = typeof askedArbitrary extends fc.Arbitrary<infer T> ? T : never;

interface Row {
  readonly user_id: string;
  readonly board_id: string;
  readonly email: string;
  readonly total_points: string;
  readonly participation_score: string;
}

function pathOf({ range, board, user }: AskedPoints, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(more);
  for (const [name, value] of Object.entries({ board, user, start: range.startMs, end: range.endMs })) {
    if (value !== undefined) query.set(name, String(value));
  }
  return `${PATH}?${query}`;
}

describe('the rows of points', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  /** The elements of all pages, as one JSON array. */
  async function walk(url: string, path: string, key: string): Promise<string> {
    const pages: string[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const page: Reply = await get(url + next, key);
      assertSuccess(page);
      assert.ok(page.text !== '[]' || pages.length === 0);
      assert.ok(pages.length < 100, 'a page follows itself');
      pages.push(page.text.slice(1, -1));
      next = nextOf(page);
    }
    return `[${pages.join()}]`;
  }

  it('agree with the model, for every scope, filter and range, whole and in pages', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      anyScope,
      fc.array(askedArbitrary, { minLength: 6, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      async (plan, scope, questions, limit) => {
        const { organization, model } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope });
        for (const [at, asked] of questions.entries()) {
          const expected = pointsRowsOf(model, scope, asked.range, asked);
          for (const url of urlsInTurn(deployment, at)) {
            const reply = await get(url + pathOf(asked), key);
            if (expected === 'not-found') {
              assertProblem(reply, 404, 'not-found');
              continue;
            }
            assertSuccess(reply);
            assert.equal(reply.text, renderJson(expected), pathOf(asked));
            assert.equal(await walk(url, pathOf(asked, { limit: `${limit}` }), key), reply.text);
          }
        }
      },
    );
    await fc.assert(property, runs(8));
  });

  it('are the same in every representation, for every scope, redaction and page', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      anyScope,
      redactionArbitrary,
      fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      async (plan, scope, redact, limit) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope, redact });
        const { url } = deployment;
        let path: string | undefined = limit === undefined ? PATH : `${PATH}?limit=${limit}`;
        while (path !== undefined) {
          const json = await get(url + path, key);
          const rows = rowsOfJson(json.text);
          const cells = rows.map((row) => row.map(String));
          const csv = await get(url + path, key, { accept: 'text/csv' });
          assertSuccess(csv, 'text/csv');
          assert.equal(csv.text.split('\r\n')[0], COLUMNS);
          assert.deepEqual(parse(csv.text, { from: 2 }), cells);
          const lines = await get(url + path, key, { accept: 'application/x-ndjson' });
          assert.equal(`[${lines.text.trimEnd().replaceAll('\n', ',')}]`, json.text);
          const headers = { apikey: key, accept: 'application/vnd.apache.parquet' };
          const parquet = await fetch(url + path, { headers });
          const read = await readParquetRows(new Uint8Array(await parquet.arrayBuffer()));
          assert.equal(read.columns.map(([name]) => name).join(), COLUMNS);
          assert.deepEqual(read.rows, rows);
          assert.equal(parquet.headers.get('link') === null, json.headers.get('link') === null);
          path = nextOf(json);
        }
      },
    );
    await fc.assert(property, runs(4));
  });

  it('have the records of the points routes, for every scope, redaction and range', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      anyScope,
      redactionArbitrary,
      fc.oneof(fc.constant<TimeRange>({}), rangeArbitrary),
      async (plan, scope, redact, range) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope, redact });
        const asked = { range, board: undefined, user: undefined };
        const [, query] = pathOf(asked).split('?');
        const read = async <T>(path: string, at = 0) =>
          parseExact((await get(urlsInTurn(deployment, at)[0] + path, key)).text) as T;
        const boards = await read<{ id: string }[]>('/b/v1/boards');
        const rows = await read<Row[]>(pathOf(asked));
        const records: Row[] = [];
        for (const [at, { id }] of boards.entries()) {
          records.push(
            ...Object.values(await read<Record<string, Row>>(`/a/v1/board/${id}/points?${query}`, at)),
          );
        }
        const recordOf = ({ user_id, board_id, email, total_points, participation_score }: Row) => ({
          ...{ user_id, board_id, email, total_points, participation_score },
        });
        assert.deepEqual(rows.map(recordOf), records.map(recordOf));
      },
    );
    await fc.assert(property, runs(4));
  });
});
