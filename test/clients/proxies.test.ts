/**
 * The proxies of docs/operations.md, run with the settings that it has for each: what passes them
 * is as from the server. With other settings, they change what the document says.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { blocksOf, lacking, runBlock, runs } from '../recipes/blocks.ts';
import { largeRecords, openStand, type Stand, until } from '../server/stand.ts';
import { openCuttingProxy } from './cutting-proxy.ts';
import { type Fields, type Reply, requestExactly } from './exact-reply.ts';
import * as passing from './passing-proxies.ts';
import {
  hasApache,
  hasNginx,
  openProgram,
  type Places,
  type Program,
  type RunningProgram,
} from './proxies.ts';

const EVENTS = '/a/v1/events';
const MEGABYTES = 3;
/** curl asks for no encoding. */
const FORMS = {
  plain: { accept: 'application/x-ndjson' },
  identity: { accept: 'application/json', 'accept-encoding': 'identity' },
  gzip: { accept: 'application/json', 'accept-encoding': 'gzip' },
} as const satisfies Record<string, Fields>;
type FormName = keyof typeof FORMS;
const FORM_NAMES = Object.keys(FORMS) as readonly FormName[];

/** What a client sees that sends the entity tag that it has received. */
interface Seen {
  /** Compared with the entity tags of the server for the same list, uncompressed and as gzip. */
  readonly etag: 'as sent' | 'of gzip' | 'of plain' | 'weak, of gzip' | 'weak, of plain';
  readonly ifNoneMatch: number;
  /** 'slice' is a part that was compressed alone. */
  readonly range: number | 'slice';
  readonly ifRange: number | 'slice';
}
const AS_SENT: Seen = { etag: 'as sent', ifNoneMatch: 304, range: 206, ifRange: 206 };
const UNCHANGED = { plain: AS_SENT, identity: AS_SENT, gzip: AS_SENT };
/** The proxy compresses, and makes the entity tag weak, which `If-Range` never matches. */
const WEAK: Seen = { etag: 'weak, of plain', ifNoneMatch: 304, range: 206, ifRange: 200 };

interface Tested {
  readonly name: string;
  readonly describe: (places: Places) => Program;
  readonly isThere: () => boolean;
  /** With the settings that the document warns of. */
  readonly changed: Readonly<Partial<Record<FormName, Partial<Seen>>>>;
}

const PROXIES: readonly Tested[] = [
  {
    name: 'Caddy',
    describe: passing.caddy,
    isThere: () => runs('caddy', 'version'),
    changed: { ...UNCHANGED, plain: { ...AS_SENT, etag: 'of gzip', ifRange: 200 } },
  },
  {
    name: 'Caddy with encode',
    describe: passing.caddyThatEncodes,
    isThere: () => runs('caddy', 'version'),
    changed: { ...UNCHANGED, gzip: { etag: 'of plain', ifNoneMatch: 304, range: 'slice', ifRange: 'slice' } },
  },
  {
    name: 'nginx',
    describe: passing.nginx,
    isThere: hasNginx,
    changed: { ...UNCHANGED, gzip: WEAK },
  },
  {
    name: 'Varnish',
    describe: passing.varnish,
    isThere: () => runs('varnishd', '-V'),
    // Whether it has the length of a response in time for a range depends on the moment.
    changed: {
      plain: { etag: 'weak, of gzip', ifNoneMatch: 304, ifRange: 200 },
      identity: { etag: 'weak, of gzip', ifNoneMatch: 304, ifRange: 200 },
      gzip: { etag: 'as sent', ifNoneMatch: 304 },
    },
  },
  {
    name: 'HAProxy',
    describe: passing.haproxy,
    isThere: () => runs('haproxy', '-v'),
    changed: { ...UNCHANGED, gzip: WEAK },
  },
  { name: 'Apache', describe: passing.apache, isThere: hasApache, changed: UNCHANGED },
  { name: 'squid', describe: passing.squid, isThere: () => runs('squid', '-v'), changed: UNCHANGED },
  {
    name: 'Traffic Server',
    describe: passing.trafficServer,
    isThere: () => runs('traffic_server', '-V'),
    changed: UNCHANGED,
  },
];

const tagOf = ({ headers }: Reply) => headers.get('etag') ?? '';
const encodingOf = ({ headers }: Reply) => headers.get('content-encoding') ?? 'identity';
const unpacked = (reply: Reply) => (encodingOf(reply) === 'gzip' ? gunzipSync(reply.bytes) : reply.bytes);

let stand: Stand;
let folder: string;
before(async () => {
  const records = largeRecords(MEGABYTES, 2_000);
  // Without heartbeats, which would fill the buffer of a proxy, or tell it that a client has left.
  stand = await openStand({ records, isUnique: true, heartbeatMs: 3_600_000 });
  folder = mkdtempSync(join(tmpdir(), 'corkboard-proxies-'));
});
after(async () => {
  await stand.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (url: string, fields: Fields) => requestExactly(url + EVENTS, { ...fields, apikey: stand.key });

/** The response of the server itself, after it has been made once, which ranges of gzip require. */
async function fromServer(form: Fields): Promise<Reply> {
  const whole = await ask(stand.url, form);
  await until(async () => (await ask(stand.url, { ...form, range: 'bytes=0-9' })).status === 206);
  return whole;
}

/** Changes every event, and waits until the server sends them. */
async function publish(title: string): Promise<void> {
  const etag = async () => tagOf(await ask(stand.url, { ...FORMS.identity, range: 'bytes=0-0' }));
  const old = await etag();
  await stand.publish({ boards: [{ id: 7n, title }] });
  await until(async () => (await etag()) !== old);
}

/** What passes a proxy, compared with the responses of the server. */
async function look(url: string, name: FormName): Promise<Seen> {
  const form: Fields = FORMS[name];
  const { accept } = FORMS[name];
  const sent = await fromServer(form);
  const plain = await fromServer({ accept, 'accept-encoding': 'identity' });
  const gzip = await fromServer({ accept, 'accept-encoding': 'gzip' });
  const whole = await ask(url, form);
  assert.equal(whole.status, 200);
  assert.equal(encodingOf(whole), encodingOf(sent));
  assert.ok(unpacked(whole).equals(plain.bytes), `${whole.bytes.length} bytes`);
  const tag = tagOf(whole);
  const tags: readonly (readonly [Seen['etag'], string])[] = [
    ['as sent', tagOf(sent)],
    ['of gzip', tagOf(gzip)],
    ['of plain', tagOf(plain)],
    ['weak, of gzip', `W/${tagOf(gzip)}`],
    ['weak, of plain', `W/${tagOf(plain)}`],
  ];
  const etag = tags.find(([, one]) => one === tag)?.[0];
  assert.ok(etag !== undefined, tag);
  // After the first 1000 bytes, as a client that continues.
  const rest = `bytes=1000-`;
  const partial = (reply: Reply) => {
    if (reply.status !== 206) {
      assert.ok(unpacked(reply).equals(plain.bytes), `${reply.status}: ${reply.bytes.length} bytes`);
      return reply.status;
    }
    const range = reply.headers.get('content-range');
    const one = [plain, gzip].find(({ bytes }) => range === `bytes 1000-${bytes.length - 1}/${bytes.length}`);
    assert.ok(one !== undefined, range ?? '');
    const part = one.bytes.subarray(1_000);
    if (encodingOf(reply) === encodingOf(one) && reply.bytes.equals(part)) return 206;
    assert.ok(one === plain && unpacked(reply).equals(part), `${reply.bytes.length} bytes`);
    return 'slice';
  };
  return {
    etag,
    ifNoneMatch: (await ask(url, { ...form, 'if-none-match': tag })).status,
    range: partial(await ask(url, { ...form, range: rest })),
    ifRange: partial(await ask(url, { ...form, range: rest, 'if-range': tag })),
  };
}

/** Opens a live stream, publishes, and waits until the event arrives. */
async function follow(url: string, fields: Fields): Promise<void> {
  followed += 1;
  const timestampMs = Date.UTC(2026, 0, 1) + followed;
  const headers = { ...fields, accept: 'text/event-stream', apikey: stand.key };
  let text = '';
  let head: unknown;
  const request = get(url + EVENTS, { agent: false, headers }, (response) => {
    const { 'content-type': type, 'content-encoding': encoding = 'identity' } = response.headers;
    head = [response.statusCode, type, encoding];
    response.on('error', () => undefined).setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
    });
  });
  request.on('error', (error) => {
    head = String(error);
  });
  try {
    await until(() => text.includes('event: synced') || typeof head === 'string');
    assert.deepEqual(head, [200, 'text/event-stream', 'identity']);
    assert.ok(!text.includes('"action":"visited"'));
    const event = { type: 'board', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n, timestampMs };
    await stand.publish({ events: [event] });
    await until(() => text.includes(new Date(timestampMs).toISOString().slice(0, -1)));
  } finally {
    request.destroy();
  }
}

let followed = 0;

/** Runs the recipe for downloads that were interrupted, through a connection that is cut once. */
async function runRecipe(url: string) {
  const name = 'Continue an interrupted download 1';
  const recipe = blocksOf('recipes.md').find((block) => block.name === name);
  assert.ok(recipe !== undefined);
  const cutting = await openCuttingProxy(Number(new URL(url).port), { bytes: 1_000_000, cuts: 1 });
  try {
    const variables = { CORKBOARD_URL: `${cutting.url}/a`, CORKBOARD_KEY: stand.key };
    const ended = await runBlock(['sh', '-e', '-c', recipe.code], folder, variables);
    return { ...ended, cutting };
  } finally {
    await cutting.close();
  }
}

const CURL = ['curl', () => runs('curl', '--version')] as const;

for (const tested of PROXIES) {
  describe(`a proxy: ${tested.name}`, { skip: lacking([tested.name, tested.isThere]) }, () => {
    let proxy: RunningProgram;
    before(async () => {
      proxy = await openProgram(stand.url, tested.describe);
    });
    after(() => proxy?.close());

    for (const form of FORM_NAMES) {
      it(`passes on bodies, entity tags and ranges: ${form}`, async () => {
        const [documented] = proxy.urls;
        assert.deepEqual(await look(documented, form), AS_SENT);
      });

      it(`does what docs/operations.md says with other settings: ${form}`, async () => {
        const seen = await look(proxy.urls[1], form);
        assert.deepEqual(seen, { ...seen, ...tested.changed[form] });
      });

      it(`sends the new version whole to a client that continues with an older one: ${form}`, async () => {
        const [documented] = proxy.urls;
        const old = await ask(documented, FORMS[form]);
        await publish(`Rhetoric ${tested.name} ${form}`);
        const fresh = await fromServer(FORMS[form]);
        const fields = { ...FORMS[form], range: 'bytes=1000-', 'if-range': tagOf(old) };
        const reply = await ask(documented, fields);
        assert.deepEqual([reply.status, tagOf(reply)], [200, tagOf(fresh)]);
        assert.ok(unpacked(reply).equals(unpacked(fresh)));
      });
    }

    it('lets the recipe continue an interrupted download', { skip: lacking(CURL) }, async () => {
      const whole = await fromServer(FORMS.plain);
      const { code, stderr, cutting } = await runRecipe(proxy.urls[0]);
      assert.equal(code, 0, stderr);
      assert.ok(readFileSync(join(folder, 'events.ndjson')).equals(whole.bytes));
      assert.equal(cutting.cuts, 1);
      const [first, second] = cutting.asked;
      assert.deepEqual([first?.get('range'), cutting.asked.length], [undefined, 2]);
      assert.match(second?.get('if-range') ?? '', /^"[^"]+"$/);
      assert.match(second?.get('range') ?? '', /^bytes=[1-9]\d*-$/);
    });

    for (const [name, fields] of [
      ['without compression', {}],
      ['for a client that accepts gzip', { 'accept-encoding': 'gzip' }],
    ] as const) {
      it(`passes on a live stream as it is written, ${name}`, async () => {
        for (const url of proxy.urls) await follow(url, fields);
      });
    }
  });
}

describe('Traffic Server', {
  skip: lacking(['Traffic Server', () => runs('traffic_server', '-V')]),
}, () => {
  it('gets the response uncompressed if the client accepts only zstd', async () => {
    const proxy = await openProgram(stand.url, passing.trafficServer);
    try {
      const fields = { ...FORMS.plain, 'accept-encoding': 'zstd' };
      assert.equal(encodingOf(await ask(stand.url, fields)), 'zstd');
      const reply = await ask(proxy.urls[0], fields);
      assert.equal(encodingOf(reply), 'identity');
      assert.ok(reply.bytes.equals((await fromServer(FORMS.plain)).bytes));
    } finally {
      await proxy.close();
    }
  });
});

describe('deploy/Caddyfile', { skip: lacking(['Caddy', () => runs('caddy', 'version')]) }, () => {
  let proxy: RunningProgram;
  before(async () => {
    proxy = await openProgram(stand.url, passing.caddy);
  });
  after(() => proxy?.close());

  it('would let no interrupted download continue without its setting for compression', {
    skip: lacking(CURL),
  }, async () => {
    const { code, stderr, cutting } = await runRecipe(proxy.urls[1]);
    assert.equal(code, 0, stderr);
    // The second request gets everything instead of the rest, so the recipe starts again.
    assert.deepEqual(
      cutting.asked.map((fields) => fields.has('range')),
      [false, true, false],
    );
  });

  it('ends a live stream at the server when its client leaves', async () => {
    const streams = async () => {
      const metrics = await (await fetch(`${stand.url}/metrics`)).text();
      return Number(/^corkboard_in_use\{limit="streams"\} (\d+)$/m.exec(metrics)?.[1]);
    };
    const earlier = await streams();
    assert.ok(earlier >= 0);
    await follow(proxy.urls[0], {});
    await until(async () => (await streams()) === earlier);
  });
});
