/** A copy in a bucket of Parquet files: which objects change, failing requests, what is refused. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { passes } from '../../src/sync/source.ts';
import { EVENTS } from '../../src/sync/tables.ts';
import { openTarget } from '../../src/sync/targets/open-target.ts';
import { temporaryFolder } from '../cli/command.ts';
import { seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { type Fault, FaultProxy, sendError } from '../s3/fault-proxy.ts';
import { until } from '../server/stand.ts';
import { sharedBucket } from '../shared-servers.ts';
import {
  assertNothingUnfinished,
  type BucketPlace,
  behind,
  CHANGE,
  event,
  FIRST,
  firstCopyIn,
  HOLDER,
  MOVED,
  SECOND,
  START,
} from './bucket-copy.ts';
import { BUCKET } from './copies.ts';
import { assertMonths, eventsIn, LOCK_TIMES, NO_CHANGES, runWith } from './scripted.ts';

const folder = temporaryFolder();
/** Objects in the order of a listing. */
const BEFORE_MONTHS = ['boards.parquet', 'corkboard_sync.json'];
const AFTER_MONTHS = ['points.parquet', 'users.parquet'];
/** Every request in a long run, otherwise some, which depend on the seed. */
const STEP = IS_LONG ? 1 : 4;
const RUN = '01234567-89ab-cdef-0123-456789abcdef';

const monthFile = (month: string) => `events/month=${month}/events.parquet`;

const firstCopy = () => firstCopyIn(folder);

describe('a copy in a bucket', () => {
  it('has an object for each month, lists, its state, and nothing else that programs read', async () => {
    const { objects } = await firstCopy();
    assert.deepEqual(await objects.keys(), [
      ...[HOLDER, ...BEFORE_MONTHS, ...['2018-01', '2018-02', '2018-03'].map(monthFile), ...AFTER_MONTHS],
    ]);
    assert.deepEqual(JSON.parse(`${await objects.get('corkboard_sync.json')}`), {
      ...{ format: 1, source: 'https://data.example.org/a', token: 'first' },
      lists: ['users', 'boards', 'points'],
      months: ['2018-01', '2018-02', '2018-03'],
    });
  });

  for (const [what, batch, changed] of [
    ['no changes', NO_CHANGES, []],
    ['a correction', { ...NO_CHANGES, events: [event('b', '2018-02-05', 2, 'New')] }, ['2018-02']],
    ['an event that moves', { ...NO_CHANGES, events: [MOVED] }, ['2018-01', '2018-04']],
    ['an erasure', { ...NO_CHANGES, forgotten: [2] }, ['2018-02', '2018-03']],
  ] as const) {
    it(`changes the objects of the months concerned by ${what}, and no others`, async () => {
      const place = await firstCopy();
      const former = await place.objects.tags();
      await runWith(place, [batch], 'second');
      const tags = await place.objects.tags();
      const names = [...new Set([...Object.keys(former), ...Object.keys(tags)])];
      const different = names.filter((name) => former[name] !== tags[name]).sort();
      assert.deepEqual(different, [HOLDER, 'corkboard_sync.json', ...changed.map(monthFile)]);
    });
  }

  it('starts again, and has no objects of former months', async () => {
    const place = await firstCopy();
    await runWith(place, [{ ...NO_CHANGES, startsAnew: true, events: [MOVED] }], 'second');
    assert.deepEqual(await place.objects.keys(), [
      HOLDER,
      ...BEFORE_MONTHS,
      monthFile('2018-04'),
      ...AFTER_MONTHS,
    ]);
  });

  it('is unchanged while a run that fails later has received changes, and nothing is left', async () => {
    const place = await firstCopy();
    const { [HOLDER]: _, ...former } = await place.objects.tags();
    const target = await openTarget(place.address, { schema: 'community', lock: LOCK_TIMES });
    await assert.rejects(
      target.transact(async (copy) => {
        await copy.remove(EVENTS, 'sync_id', ['a']);
        throw new Error('broken');
      }),
      /broken/,
    );
    await target.close();
    const { [HOLDER]: __, ...later } = await place.objects.tags();
    assert.deepEqual(later, former);
  });

  it('allows the empty objects that stand for folders, and leaves them', async () => {
    const place = await BUCKET.make(folder);
    const marks = ['', 'events/', '.corkboard/', '.corkboard/locks/'];
    for (const key of marks) await place.objects.put(key, '');
    await runWith(place, START, 'first');
    await runWith(place, CHANGE, 'second');
    assert.deepEqual(eventsIn(await place.rows('events')), SECOND);
    const keys = await place.objects.keys();
    for (const key of marks) assert.ok(keys.includes(key), key);
  });
});

it('the endpoint and the region of a bucket can be in the environment', async () => {
  const place = await BUCKET.make(folder);
  const url = new URL(place.address);
  const endpoint = url.searchParams.get('endpoint') ?? '';
  url.searchParams.delete('endpoint');
  const former = process.env['AWS_ENDPOINT_URL'];
  process.env['AWS_ENDPOINT_URL'] = endpoint;
  try {
    await runWith({ ...place, address: String(url) }, START, 'first');
  } finally {
    if (former === undefined) delete process.env['AWS_ENDPOINT_URL'];
    else process.env['AWS_ENDPOINT_URL'] = former;
  }
  assert.deepEqual(eventsIn(await place.rows('events')), FIRST);
});

describe('a bucket with requests that fail', () => {
  let proxy: FaultProxy;
  before(async () => {
    proxy = await FaultProxy.start((await sharedBucket()).endpoint);
  });
  after(() => proxy.close());

  /** Requests that change the bucket, without those that renew the lock at any time. */
  function isChange({ request: { method, url = '' } }: Parameters<Fault>[0]): boolean {
    return method !== 'GET' && !url.includes('/locks/');
  }

  it('has a copy in spite of errors and broken connections that pass', async () => {
    const place = behind(proxy, await BUCKET.make(folder));
    const times = new Map<string, number>();
    proxy.fault = ({ request: { method, url }, response }) => {
      const time = (times.get(`${method} ${url}`) ?? 0) + 1;
      times.set(`${method} ${url}`, time);
      if (time === 1) return sendError(response, 500, 'InternalError');
      return time === 2 && response.destroy().destroyed;
    };
    await runWith(place, START, 'first');
    await runWith(place, CHANGE, 'second');
    assert.deepEqual(eventsIn(await place.rows('events')), SECOND);
    proxy.fault = () => false;
  });

  it('has each month as before or as after a run whose requests fail, and later ones complete it', async (t) => {
    tellSeed(t);
    for (let last = seed % STEP, hasFailed = true; hasFailed; last += STEP) {
      const place = await firstCopy();
      let changes = 0;
      proxy.fault = (proxied) => {
        if (isChange(proxied)) changes += 1;
        return isChange(proxied) && changes > last && sendError(proxied.response, 403, 'AccessDenied');
      };
      const failing = runWith(behind(proxy, place), CHANGE, 'second');
      hasFailed = await failing.then(
        () => false,
        (error) => {
          assert.equal(error.code, 'data-unreadable');
          return true;
        },
      );
      // Cleaning up may fail without consequences.
      hasFailed ||= changes > last;
      proxy.fault = () => false;
      assertMonths(eventsIn(await place.rows('events')), FIRST, SECOND);
      await runWith(place, CHANGE, 'second');
      assert.deepEqual(eventsIn(await place.rows('events')), SECOND);
      await assertNothingUnfinished(place);
    }
  });

  it('receives each file with the digest of its bytes, and again after it was busy', async () => {
    const place = behind(proxy, await BUCKET.make(folder));
    let uploads = 0;
    proxy.fault = ({ request, response }) => {
      if (request.method !== 'PUT' || !request.url?.includes('/unfinished/')) return false;
      assert.match(String(request.headers['x-amz-content-sha256']), /^[0-9a-f]{64}$/);
      uploads += 1;
      return uploads === 1 && sendError(response, 503, 'SlowDown');
    };
    await runWith(place, START, 'first');
    assert.equal(uploads, 7, 'three months, three lists, and one again');
    proxy.fault = () => false;
  });

  it('reads no more of other months than the columns that it needs', async () => {
    const place = await BUCKET.make(folder);
    const random = (at: number) => hash('sha512', String(at), 'base64');
    const many = Array.from({ length: 30_000 }, (_, at) => event(`id${at}`, '2018-03-05', 1, random(at)));
    await runWith(
      place,
      [{ ...NO_CHANGES, startsAnew: true, events: [...FIRST.slice(0, 2), ...many] }],
      'first',
    );
    const whole = (await place.objects.get(monthFile('2018-03'))).length;
    assert.ok(whole > 2 ** 20, `${whole} bytes`);
    let read = 0;
    proxy.fault = async ({ request, forward }) => {
      if (request.method !== 'GET' || !request.url?.includes('2018-03')) return false;
      read += (await forward()).body.length;
      return false;
    };
    await runWith(behind(proxy, place), [{ ...NO_CHANGES, events: [MOVED] }], 'second');
    assert.ok(read > 0 && read < whole / 2, `${read} of ${whole} bytes`);
    await runWith(behind(proxy, place), [{ ...NO_CHANGES, deleted: ['id7'] }], 'third');
    assert.equal((await place.rows('events')).length, many.length + 1);
    proxy.fault = () => false;
  });

  it('stores its objects with the encryption in the address', async () => {
    const place = behind(proxy, await BUCKET.make(folder));
    const puts: unknown[] = [];
    proxy.fault = ({ request }) => {
      if (request.method === 'PUT') puts.push(request.headers['x-amz-server-side-encryption']);
      return false;
    };
    await runWith({ ...place, address: `${place.address}&sse=AES256` }, START, 'first');
    assert.deepEqual([...new Set(puts)], ['AES256']);
    proxy.fault = () => false;
  });

  it('is named with what to check, and without the access key and the signed text', async () => {
    const place = behind(proxy, await BUCKET.make(folder));
    const key = process.env['AWS_ACCESS_KEY_ID'] ?? '';
    proxy.fault = ({ response }) => {
      const body = `<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>${key}</AWSAccessKeyId><StringToSign>signed-words</StringToSign></Error>`;
      response.writeHead(403, { 'content-type': 'application/xml' }).end(body);
      return true;
    };
    await assert.rejects(runWith(place, START, 'first'), (error) => {
      const shown = inspect(error, { depth: 9, showHidden: true });
      assert.match(shown, /does not accept the credentials/);
      assert.doesNotMatch(shown, new RegExp(`${key === '' ? 'no key' : key}|signed-words`));
      return true;
    });
    proxy.fault = () => false;
  });
});

async function refused(place: BucketPlace, message: RegExp): Promise<void> {
  await assert.rejects(runWith(place, [NO_CHANGES], 'last'), { code: /copy-(refused|busy)/, message });
}

describe('a prefix of a bucket that is no copy', () => {
  it('is refused if it has objects of others, which stay', async () => {
    for (const key of [
      'users.parquet',
      monthFile('2018-01'),
      'events/own.parquet',
      'notes.txt',
      '.corkboard/x',
    ]) {
      const place = await BUCKET.make(folder);
      await place.objects.put(key, 'own');
      await refused(place, /which does not belong to the copy/);
      assert.deepEqual(await place.objects.keys(), [key]);
    }
  });

  it('is refused if objects of others came later, which stay', async () => {
    for (const key of [monthFile('2017-01'), 'events/month=2018-01/own.parquet', 'notes.txt']) {
      const place = await firstCopy();
      const keys = await place.objects.keys();
      await place.objects.put(key, 'own');
      await refused(place, /which does not belong to the copy/);
      assert.deepEqual(await place.objects.keys(), [...keys, key].sort());
    }
  });

  it('is refused if its state is damaged, of a later version, or lacks an object', async () => {
    for (const [damage, message] of [
      [({ objects }: BucketPlace) => objects.put('corkboard_sync.json', '{"source'), /are damaged/],
      [({ objects }: BucketPlace) => objects.put('corkboard_sync.json', '{"format":2}'), /a later version/],
      [({ objects }: BucketPlace) => objects.put('.corkboard/change.json', '{"written":{}}'), /are damaged/],
      [
        ({ objects }: BucketPlace) => objects.delete(monthFile('2018-02')),
        /lacks the file events\/month=2018-02/,
      ],
      [({ objects }: BucketPlace) => objects.delete('users.parquet'), /lacks the file users\.parquet/],
    ] as const) {
      const place = await firstCopy();
      await damage(place);
      await refused(place, message);
    }
  });

  it('is refused for good if new files of a change that was written down are lost', async () => {
    const place = await firstCopy();
    const state = JSON.parse(`${await place.objects.get('corkboard_sync.json')}`);
    const change = { run: RUN, written: { '2018-02': 7 }, removed: ['2018-01'], state };
    await place.objects.put('.corkboard/change.json', JSON.stringify(change));
    for (const _ of ['once', 'again']) await refused(place, /are lost/);
    assert.deepEqual(eventsIn(await place.rows('events')), FIRST);
  });
});

describe('the lock of a copy in a bucket', () => {
  it('refuses a second run, and is released', async () => {
    const place = await firstCopy();
    const target = await openTarget(place.address, { schema: 'community', lock: LOCK_TIMES });
    await target.transact(async (_copy, state) => {
      await refused(place, /a different run is using the same prefix/);
      return state ?? assert.fail();
    });
    await target.close();
    await runWith(place, CHANGE, 'second');
  });

  it('of a run that was killed is waited for and deleted', async () => {
    const place = await firstCopy();
    await place.objects.put(`.corkboard/locks/${RUN}`, 'silent');
    await place.objects.put(`.corkboard/unfinished/${RUN}/users.parquet`, 'unfinished');
    const waits: number[] = [];
    const lock = { ...LOCK_TIMES, onWait: (silenceMs: number) => waits.push(silenceMs) };
    await runWith(place, CHANGE, 'second', lock);
    assert.deepEqual(waits, [LOCK_TIMES.silenceMs]);
    await assertNothingUnfinished(place);
  });

  for (const [what, isRead, message] of [
    ['is to write', false, /A different run has continued/],
    ['reads its objects', true, /has been replaced or deleted while it was read/],
  ] as const) {
    it(`is lost by a run that does not renew it, which ends when it ${what}`, async () => {
      const place = await firstCopy();
      const times = { renewMs: 600_000 };
      const paused = await openTarget(place.address, { schema: 'community', lock: times });
      await assert.rejects(
        paused.transact(async (copy, state) => {
          if (isRead) await copy.remove(EVENTS, 'sync_id', ['c']);
          else await copy.clear(EVENTS);
          await runWith(place, CHANGE, 'second');
          return { ...(state ?? assert.fail()), token: 'paused' };
        }),
        (error: Error) => passes(error) && message.test(error.message),
      );
      await paused.close();
      assert.deepEqual(eventsIn(await place.rows('events')), SECOND);
      assert.equal(JSON.parse(`${await place.objects.get('corkboard_sync.json')}`).token, 'second');
      await assertNothingUnfinished(place);
    });
  }

  it('is renewed, so that a long run keeps it', async () => {
    const place = await firstCopy();
    const target = await openTarget(place.address, { schema: 'community', lock: LOCK_TIMES });
    await target.transact(async (_copy, state) => {
      const tags = new Set<string>();
      await until(async () => {
        for (const [key, tag] of Object.entries(await place.objects.tags()))
          if (key.startsWith('.corkboard/locks/')) tags.add(tag);
        return tags.size > LOCK_TIMES.silenceMs / LOCK_TIMES.renewMs;
      });
      await refused(place, /a different run is using the same prefix/);
      return { ...(state ?? assert.fail()), token: 'long' };
    });
    await target.close();
    assert.equal(JSON.parse(`${await place.objects.get('corkboard_sync.json')}`).token, 'long');
  });
});

it('the address of a bucket is checked, and no credentials in it are repeated', async () => {
  for (const address of ['s3://key:secret-words@bucket/x', 's3://bucket/x?secret-words=1', 's3://b']) {
    await assert.rejects(openTarget(address, { schema: 'community' }), (error) => {
      assert.equal(Object(error).code, 'option-malformed');
      assert.doesNotMatch(inspect(error), /secret-words/);
      return true;
    });
  }
});
