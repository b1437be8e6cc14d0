/** The offsets of time zones, and names that can mean several zones. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { knownZone, zoneData } from '../../../src/system/zones.ts';
import { assertSuccess, get, type Reply } from '../../model/client.ts';
import { openWorld, type World } from '../../world.ts';

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.close());

async function ask(path: string): Promise<Reply> {
  return await get(`${world.url}/insights/v1${path}`, world.keys.full);
}

async function load(path: string): Promise<Record<string, unknown>> {
  const reply = await ask(path);
  assertSuccess(reply);
  return JSON.parse(reply.text);
}

describe('the offsets of a time zone', () => {
  it('are those of the rules in use, from before 1970 to the year 2100', async () => {
    const { offsets, ...said } = await load('/zone?zone=America/St_Johns');
    assert.deepEqual(said, { zone: 'America/St_Johns', zoneData: zoneData() });
    const starts = (offsets as readonly { readonly start: string | null; readonly seconds: number }[]).map(
      ({ start, seconds }) => [start === null ? Date.UTC(1970) : Date.parse(start), seconds * 1000],
    );
    assert.deepEqual(starts, knownZone('America/St_Johns').offsetsBetween(Date.UTC(1970), Date.UTC(2100)));
    assert.ok(starts.length > 200);
    assert.deepEqual(await load('/zone'), {
      ...{ zone: 'UTC', zoneData: zoneData() },
      offsets: [{ start: null, seconds: 0 }],
    });
  });

  it('are refused for a name that can mean several zones, with these', async () => {
    for (const path of ['/zone', '/activity', '/heat-map']) {
      const reply = await ask(`${path}?zone=CST`);
      const detail =
        'The parameter "zone" must be the name of an IANA time zone; CST may mean America/Chicago, Asia/Shanghai or America/Havana.';
      assert.equal(reply.status, 400);
      assert.equal(JSON.parse(reply.text).detail, detail);
    }
  });
});
