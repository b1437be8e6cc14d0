/**
 * Caches of others between clients and the server: nginx, which requests and keeps parts of
 * responses, and Apache, which keeps whole ones. They decide what may be kept, for which requests
 * it can be used, and whether it is current (RFC 9110 and 9111).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { runs as numbersOfRuns } from '../model/runs.ts';
import { lacking } from '../recipes/blocks.ts';
import { largeRecords, openStand, type Stand, until } from '../server/stand.ts';
import { type Fields, type Reply, requestExactly } from './exact-reply.ts';
import { apache, type CachingProxy, hasApache, hasNginx, nginx, openProxy } from './proxies.ts';

const EVENTS = '/a/v1/events';
const IDENTITY = { 'accept-encoding': 'identity' };
/** Requests for different responses at one address. */
const FORMS: readonly Fields[] = [
  { accept: 'application/json', ...IDENTITY },
  { accept: 'text/csv', ...IDENTITY },
  { accept: 'application/json', 'accept-encoding': 'gzip' },
];
const [FORM] = FORMS as readonly [Fields];

const ask = (url: string, fields: Fields) => requestExactly(url + EVENTS, fields);

/** What the cache says about itself, like `HIT`. */
function cacheOf({ headers }: Reply): string {
  return headers.get('x-cache')?.split(' ')[0] ?? '';
}

for (const [name, program, needs] of [
  ['nginx', nginx, ['nginx', hasNginx]],
  ['Apache', apache, ['Apache', hasApache]],
] as const) {
  describe(`a cache in ${name}`, { skip: lacking(needs) }, () => {
    let stand: Stand;
    let proxy: CachingProxy;
    let keys: readonly string[] = [];
    before(async () => {
      stand = await openStand({ records: largeRecords(2, 2_000), isUnique: true });
      const scope = { boards: [8n], users: 'of-boards' } as const;
      keys = [stand.key, await stand.makeKey({ scope })];
      proxy = await openProxy(stand.url, program);
    });
    after(async () => {
      await proxy?.close();
      await stand?.close();
    });

    const requests = (): readonly Fields[] =>
      FORMS.flatMap((form) => keys.map((apikey) => ({ ...form, apikey })));
    const origin = (fields: Fields) => ask(stand.url, fields);

    function assertSame(reply: Reply, expected: Reply): void {
      assert.equal(reply.status, expected.status);
      assert.ok(reply.bytes.equals(expected.bytes), `${reply.bytes.length} bytes`);
      for (const field of ['etag', 'content-type', 'content-range', 'content-encoding']) {
        assert.equal(reply.headers.get(field), expected.headers.get(field), field);
      }
    }

    /** Waits until the cache has a response and has found that it is current. */
    async function keep(fields: Fields): Promise<void> {
      await until(async () => cacheOf(await ask(proxy.keeping, fields)).startsWith('REVALIDATE'));
    }

    /** Changes every event, and waits until the server sends them. */
    async function publish(title: string): Promise<void> {
      const fields = { ...FORM, apikey: stand.key };
      const etag = async () => (await origin({ ...fields, range: 'bytes=0-0' })).headers.get('etag');
      const old = await etag();
      await stand.publish({ boards: [{ id: 7n, title }] });
      await until(async () => (await etag()) !== old);
    }

    it('that obeys keeps nothing, because responses are private', async () => {
      for (const fields of [...requests(), ...requests()]) {
        const reply = await ask(proxy.obedient, fields);
        assertSame(reply, await origin(fields));
        assert.equal(cacheOf(reply), 'MISS');
      }
    });

    it('keeps one response for each key, representation and encoding', async () => {
      const all = await Promise.all(requests().map(origin));
      assert.equal(new Set(all.map(({ headers }) => headers.get('etag'))).size, all.length);
      const uncompressed = requests().filter((fields) => fields['accept-encoding'] === 'identity');
      for (const fields of uncompressed) await keep(fields);
      for (const fields of [...requests(), ...requests()]) {
        assertSame(await ask(proxy.keeping, fields), await origin(fields));
      }
      const last = await Promise.all(uncompressed.map((fields) => ask(proxy.keeping, fields)));
      for (const reply of last) assert.notEqual(cacheOf(reply), 'MISS');
    });

    it('finds out with its entity tag that a response is current, and does not load it again', async () => {
      const fields = { ...FORM, apikey: stand.key };
      await keep(fields);
      const before = stand.log.length;
      const statuses = () => stand.log.slice(before).map(({ status }) => status);
      await keep(fields);
      await until(() => statuses().length > 0);
      assert.deepEqual([...new Set(statuses())], [304]);
    });

    it('takes any range from what it keeps', async () => {
      const fields = { ...FORM, apikey: stand.key };
      await keep(fields);
      const { bytes: whole, headers } = await origin(fields);
      const place = fc.nat(whole.length - 1);
      const ifRange = fc.constantFrom({}, { 'if-range': headers.get('etag') ?? '' });
      const seen = new Set<string>();
      const property = fc.asyncProperty(place, place, ifRange, async (one, other, condition) => {
        const [from, to] = one < other ? [one, other] : [other, one];
        const range = `bytes=${from}-${to}`;
        const reply = await ask(proxy.keeping, { ...fields, ...condition, range });
        assert.equal(reply.status, 206);
        assert.equal(reply.headers.get('content-range'), `bytes ${from}-${to}/${whole.length}`);
        assert.ok(reply.bytes.equals(whole.subarray(from, to + 1)), range);
        seen.add(cacheOf(reply));
      });
      await fc.assert(property, numbersOfRuns(20));
      assert.ok(
        [...seen].some((state) => state === 'HIT' || state.startsWith('REVALIDATE')),
        [...seen].join(),
      );
    });

    it('never mixes versions, and soon has the new one', async () => {
      const fields = { ...FORM, apikey: stand.key };
      await keep(fields);
      const old = await origin(fields);
      // Each version is longer than the one before, so that equal ranges have different bytes.
      await publish(`Rhetoric, ${'again '.repeat(20)}`);
      const fresh = await origin(fields);
      assert.notEqual(fresh.bytes.length, old.bytes.length);
      const tag = (reply: Reply) => reply.headers.get('etag') ?? '';
      const range = 'bytes=70000-1500000';
      await until(async () => {
        // nginx ends a response when it meets a part of a different version.
        const reply = await ask(proxy.keeping, fields).catch(() => undefined);
        const part = await ask(proxy.keeping, { ...fields, range }).catch(() => undefined);
        for (const one of [reply, part]) {
          if (one === undefined) continue;
          const version = [old, fresh].find((each) => tag(each) === tag(one));
          const bytes = one === part ? version?.bytes.subarray(70_000, 1_500_001) : version?.bytes;
          assert.ok(bytes !== undefined && one.bytes.equals(bytes), `${one.status} ${tag(one)}`);
        }
        return [reply, part].every((one) => one !== undefined && tag(one) === tag(fresh));
      });
      const stale = await ask(proxy.keeping, { ...fields, range, 'if-range': tag(old) });
      assertSame(stale, fresh);
      assert.equal((await ask(proxy.keeping, { ...fields, 'if-none-match': tag(fresh) })).status, 304);
      assertSame(await ask(proxy.keeping, { ...fields, 'if-none-match': tag(old) }), fresh);
    });
  });
}
