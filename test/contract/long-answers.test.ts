/**
 * Long responses with small and large chunks in turn, to clients that read fast, slowly, and
 * concurrently.
 */
import assert from 'node:assert/strict';
import { get as request } from 'node:http';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { answerTo } from '../model/answers.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { renderJson } from '../model/json.ts';
import { absorb, emptyModel } from '../model/model.ts';
import { describeOver, READINGS } from '../storage.ts';

/**
 * Lengths of the pin bodies and the number of events. Each response is larger than the buffers of a
 * connection.
 */
const MIXTURES = [
  { name: 'small events', lengths: [1000, 8000, 3000], events: 3000 },
  {
    name: 'events of all sizes below a chunk',
    lengths: [10, 20_000, 1000, 130_000, 90_000, 60_000],
    events: 250,
  },
  { name: 'the largest events among others', lengths: [10, 900_000, 260_000, 130_000, 40_000], events: 60 },
];
const PAUSE_MS = 50;

function bundleOf(lengths: readonly number[], events: number): Bundle {
  return {
    ...EMPTY_BUNDLE,
    users: [{ id: 1n, email: 'ada@example.org', name: 'Ada King' }],
    boards: [{ id: 1n, title: 'Long' }],
    pins: lengths.map((length, index) => ({
      ...{ id: BigInt(index), board_id: 1n, owner_id: 1n, title: `Pin ${index}` },
      body: `${String.fromCharCode(97 + index)} `.repeat(length / 2),
    })),
    events: Array.from({ length: events }, (_, index) => ({
      ...{ type: 'pin', action: 'visited', owner_id: 1n, actor_id: 1n, board_id: 1n },
      pin_id: BigInt((index * index * 31 + Math.floor(index / 3)) % lengths.length),
      timestamp: new Date(index * 1000).toISOString(),
    })),
  };
}

/**
 * The body of a response. The client pauses before every n-th chunk, so that all buffers on the way
 * are full.
 */
async function read(url: string, key: string, pauseEvery: number): Promise<string> {
  const pieces: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    request(url, { headers: { apikey: key }, agent: false }, async (response) => {
      try {
        for await (const piece of response) {
          if (pieces.length % pauseEvery === 0) await delay(PAUSE_MS);
          pieces.push(piece);
        }
        resolve();
      } catch (error) {
        reject(error);
      }
    }).on('error', reject);
  });
  return Buffer.concat(pieces).toString('utf8');
}

describeOver(READINGS, 'long responses', {}, (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  for (const [number, { name, lengths, events }] of MIXTURES.entries()) {
    it(`of ${name} reach fast and slow clients, and several at once, byte for byte`, async () => {
      const bundle = bundleOf(lengths, events);
      const organization = `long-${number}`;
      await deployment.load(organization, bundle);
      const key = await deployment.makeKey(organization);
      const { settings } = await deployment.store.organization(organization);
      const own = { courseLookup: false, lmsUserProperties: [], policy: undefined };
      const model = absorb(emptyModel({ ...settings, ...own }), bundle);
      const expected = renderJson(answerTo(model, FULL_SCOPE, 'a', { route: 'events' }, {}));
      const url = `${deployment.url}/a/v1/events`;
      for (const pauseEvery of [Number.POSITIVE_INFINITY, 100]) {
        assert.ok((await read(url, key, pauseEvery)) === expected, 'the bytes are those of the model');
      }
      const bodies = await Promise.all([1e9, 100, 170].map((pauseEvery) => read(url, key, pauseEvery)));
      for (const body of bodies) assert.ok(body === expected, 'the bytes are those of the model');
    });
  }
});
