/** Parquet has the same values as JSON, in the columns of CSV (decision 17). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { Variant } from '../model/answers.ts';
import {
  organizationArbitrary,
  rangeArbitrary,
  redactionArbitrary,
  scopeArbitrary,
} from '../model/arbitrary.ts';
import { get, nextOf, urlPathOf } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { EVENT_LISTS } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { readParquetRows, rowsOfJson } from '../render/parquet-rows.ts';

const LISTS = [...EVENT_LISTS, { route: 'boards' }, { route: 'users' }] as const;
const VARIANTS: readonly Variant[] = ['a', 'b'];

describe('Parquet', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  async function getParquet(path: string, key: string) {
    const headers = { apikey: key, accept: 'application/vnd.apache.parquet' };
    const response = await fetch(deployment.url + path, { headers });
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
  }

  it('has the rows of every list in order, for any scope, redaction, range and limit', async () => {
    const asked = fc.record({
      scope: fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      range: fc.oneof(fc.constant({}), rangeArbitrary),
      redact: redactionArbitrary,
      limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    });
    const property = fc.asyncProperty(
      organizationArbitrary,
      asked,
      fc.constantFrom(...VARIANTS),
      async (plan, { scope, range, redact, limit }, variant) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope, redact });
        for (const question of LISTS) {
          let path = urlPathOf(variant, question, range);
          if (path !== undefined && limit !== undefined)
            path += `${path.includes('?') ? '&' : '?'}limit=${limit}`;
          while (path !== undefined) {
            const json = await get(deployment.url + path, key);
            const { response, bytes } = await getParquet(path, key);
            assert.equal(response.status, json.status, path);
            if (json.status !== 200) break;
            assert.equal(response.headers.get('content-length'), String(bytes.length));
            const { columns, rows } = await readParquetRows(bytes);
            assert.deepEqual(rows, rowsOfJson(json.text), path);
            const csv = await get(deployment.url + path, key, { accept: 'text/csv' });
            assert.equal(columns.map(([name]) => name).join(), csv.text.split('\r\n')[0]);
            assert.equal(response.headers.get('link') === null, json.headers.get('link') === null);
            path = nextOf(json);
          }
        }
      },
    );
    await fc.assert(property, runs(3));
  });
});
