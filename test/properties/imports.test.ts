/** Imports of known records, and imports of exports (decisions 28, 29). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { organizationArbitrary } from '../model/arbitrary.ts';
import { assertSuccess, get } from '../model/client.ts';
import {
  type Deployment,
  holdsRecords,
  installPlan,
  loadFiles,
  openDeployment,
} from '../model/deployment.ts';
import { runs } from '../model/runs.ts';

describe('imports', () => {
  let deployment: Deployment;
  let elsewhere: Deployment;
  before(async () => {
    deployment = await openDeployment();
    elsewhere = await openDeployment();
  });
  after(async () => {
    await deployment.close();
    await elsewhere.close();
  });

  it('change nothing the second time, in any format', async () => {
    const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
      const { organization } = await installPlan(deployment, plan);
      const version = await deployment.store.currentVersion(organization);
      const last = plan.bundles.findLast(holdsRecords);
      if (last === undefined) return;
      for (const format of ['ndjson', 'csv'] as const) {
        const report = await deployment.load(organization, last, format);
        assert.equal(report.published, false, JSON.stringify(report.changes));
        assert.equal(await deployment.store.currentVersion(organization), version);
      }
    });
    await fc.assert(property, runs(3));
  });

  it('add each event once, however often and in whatever order bundles repeat it', async () => {
    const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
      const [first, ...later] = plan.bundles;
      if (first === undefined) return;
      const events = { users: [], boards: [], pins: [], memberships: [], points: [], adjustments: [] };
      const repeated = plan.bundles.map((bundle) => ({ ...events, events: bundle.events }));
      const once = await installPlan(deployment, { ...plan, bundles: [first, ...later] });
      const often = await installPlan(deployment, { ...plan, bundles: [first, ...later, ...repeated] });
      const [one, other] = await Promise.all(
        [once, often].map(async ({ organization }) =>
          get(`${deployment.url}/a/v1/events`, await deployment.makeKey(organization)),
        ),
      );
      const withoutOrganization = (text = '') => text.replaceAll(/"organization":\{"id":\d+/g, '');
      assert.equal(withoutOrganization(other?.text), withoutOrganization(one?.text));
    });
    await fc.assert(property, runs(2));
  });

  let exports = 0;
  it('of exported events as JSON, NDJSON or CSV reproduce the same bytes', async () => {
    const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
      const { organization, model } = await installPlan(deployment, plan);
      fc.pre(model.events.length > 0);
      const key = await deployment.makeKey(organization);
      for (const format of ['json', 'ndjson', 'csv']) {
        const path = `/a/v1/events?format=${format}`;
        const exported = await get(deployment.url + path, key);
        assert.equal(exported.status, 200, exported.text);
        exports += 1;
        const copy = `copy-${exports}`;
        const file = join(elsewhere.folder, `events-${exports}.${format}`);
        await writeFile(file, exported.text);
        await loadFiles(elsewhere.store, copy, [file]);
        const again = await get(elsewhere.url + path, await elsewhere.makeKey(copy));
        assertSuccess(again, exported.headers.get('content-type')?.split(';')[0]);
        assert.equal(again.text, exported.text);
      }
    });
    await fc.assert(property, runs(2));
  });
});
