/**
 * Two servers share one database while imports publish: both switch to each version in time, and no
 * response mixes two.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { run, runJson, temporaryFolder } from '../cli/command.ts';
import { type Serving, serving } from '../cli/serving.ts';
import { IS_LONG } from '../long.ts';
import { writeBundle } from '../model/bundle.ts';
import { until } from '../server/stand.ts';
import { newMigratedDatabase } from '../storage.ts';
import { bundleOfEvents, bundleOfPoints, numberedBundle } from './numbered-bundles.ts';

const BUNDLES = IS_LONG ? 30 : 2;
/**
 * An idle machine needs about two seconds; the test prints the actual time and does not judge it
 * beyond this bound.
 */
const TAKEN_UP_MS = 60_000;
/**
 * The pause of each client, so that the servers have time for other work, even on a small machine.
 */
const PAUSE_MS = 100;
/** The repeated requests, and how a response reveals its version. */
const QUESTIONS = [
  { path: '/v1/events', encoding: 'identity', numberOf: bundleOfEvents },
  { path: '/v1/events?format=ndjson', encoding: 'gzip', numberOf: bundleOfEvents },
  { path: '/v1/board/1/points', encoding: 'identity', numberOf: bundleOfPoints },
] as const;

const folder = temporaryFolder();

describe('two servers and one import', () => {
  let url: string;
  let key: string;
  let servers: readonly Serving[];
  const ends: (() => void)[] = [];
  const own = ['--organization', 'watched'];

  before(async () => {
    url = await newMigratedDatabase();
    assert.equal(await importBundle(0), 0);
    key = (await runJson(['keys', 'create', ...own, '--database', url])).key;
    const t = { after: (end: () => void) => ends.push(end) };
    servers = await Promise.all(
      // One from memory, one directly from the database.
      [['2GB'], ['0']].map(([limit = '']) =>
        serving(t, ['serve', '--workers', '1', '--resident-limit', limit, '--database', url]),
      ),
    );
  });
  after(() => {
    for (const end of ends) end();
  });

  async function importBundle(number: number): Promise<number | null> {
    const bundle = join(folder, `bundle-${number}`);
    await writeBundle(bundle, numberedBundle(number), 'ndjson');
    return (await run(['import', bundle, ...own, '--database', url])).code;
  }

  async function ask(server: Serving, { path, encoding, numberOf }: (typeof QUESTIONS)[number]) {
    const headers = { apikey: key, 'accept-encoding': encoding };
    const response = await fetch(`${server.printed['Variant A']}${path}`, { headers });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return { tag: response.headers.get('etag') ?? '', number: numberOf(text) };
  }

  it('serve each version soon after its import, and every response is of one version', async (t) => {
    let answers = 0;
    let ended = false;
    /** Entity tag by request and number, and the reverse: both servers must use the same tags. */
    const known = new Map<string, string>();
    const assertSame = (name: string, value: string) => {
      assert.equal(value, known.get(name) ?? value, name);
      known.set(name, value);
    };
    /** The number of the last response of each client. */
    const newest: number[] = [];
    /** In sequence, so that a later response is never older. */
    const keepAsking = async (server: Serving, question: (typeof QUESTIONS)[number], client: number) => {
      for (; !ended; ) {
        const { tag, number } = await ask(server, question);
        const last = newest[client] ?? 0;
        assert.ok(number >= last, `bundle ${number} after ${last}`);
        newest[client] = number;
        assertSame(`${question.path} ${tag}`, `${number}`);
        assertSame(`${question.path} of bundle ${number}`, tag);
        answers += 1;
        await delay(PAUSE_MS);
      }
    };
    const clients = servers.flatMap((server) => QUESTIONS.map((question) => ({ server, question })));
    const asking = clients.map(({ server, question }, client) => keepAsking(server, question, client));
    const importing = async () => {
      for (let number = 1; number <= BUNDLES; number += 1) {
        assert.equal(await importBundle(number), 0);
        const importedMs = performance.now();
        await until(() => clients.every((_, client) => newest[client] === number), TAKEN_UP_MS);
        t.diagnostic(`bundle ${number} was served after ${Math.round(performance.now() - importedMs)} ms`);
      }
    };
    await Promise.all([...asking, importing().finally(() => (ended = true))]);
    t.diagnostic(`${answers} answers`);
  });
});
