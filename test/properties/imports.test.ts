/** Imports of known records, and imports of exports (decisions 28, 29). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { organizationArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { assertSuccess, get } from '../model/client.ts';
import {
  type Deployment,
  holdsRecords,
  installPlan,
  loadFiles,
  openDeployment,
} from '../model/deployment.ts';
import { absorb } from '../model/model.ts';
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
    for (const format of ['ndjson', 'csv'] as const) {
      const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
        const { organization } = await installPlan(deployment, plan);
        const version = await deployment.store.currentVersion(organization);
        const last = plan.bundles.findLast(holdsRecords);
        if (last === undefined) return;
        const report = await deployment.load(organization, last, format);
        assert.equal(report.published, false, JSON.stringify(report.changes));
        assert.equal(await deployment.store.currentVersion(organization), version);
      });
      await fc.assert(property, runs(1));
    }
  });

  it('add each event once, however often and in whatever order bundles repeat it', async () => {
    const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
      const { organization, model } = await installPlan(deployment, plan);
      const key = await deployment.makeKey(organization);
      const read = () => get(`${deployment.url}/a/v1/events`, key);
      const once = await read();
      let isPublished = false;
      let held = model;
      for (const { events } of plan.bundles.filter((bundle) => bundle.events.length > 0)) {
        const repeated = { ...EMPTY_BUNDLE, events };
        const next = absorb(held, repeated);
        const { published, changes } = await deployment.load(organization, repeated);
        assert.equal(changes?.events.added, next.events.length - held.events.length);
        isPublished ||= published;
        held = next;
      }
      // An event that had the id of one of somebody who was forgotten later is new now.
      if (held.events.length > model.events.length) return;
      let often = await read();
      while (isPublished && often.headers.get('etag') === once.headers.get('etag')) {
        await delay(20);
        often = await read();
      }
      assert.equal(often.text, once.text);
    });
    await fc.assert(property, runs(2));
  });

  let exports = 0;
  it('of exported events as JSON, NDJSON or CSV reproduce the same bytes', async () => {
    const propertyOf = (formats: readonly string[]) =>
      fc.asyncProperty(organizationArbitrary, async (plan) => {
        const { organization, model } = await installPlan(deployment, plan);
        fc.pre(model.events.length > 0);
        const key = await deployment.makeKey(organization);
        for (const format of formats) {
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
    for (const formats of [['json', 'csv'], ['ndjson']]) await fc.assert(propertyOf(formats), runs(1));
  });
});
