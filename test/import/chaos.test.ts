/**
 * Imports, servers and the database are killed at random moments: nothing is lost or half
 * published, and the other processes recover by themselves (decision 31). A seed, which the test
 * prints, determines each round; `CORKBOARD_SEED` repeats it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { chunkName, decodeManifest } from '../../src/store/chunks/manifest.ts';
import type { Store } from '../../src/store/store.ts';
import { runJson, start, temporaryFolder } from '../cli/command.ts';
import { type Serving, serving } from '../cli/serving.ts';
import { seed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { writeBundle } from '../model/bundle.ts';
import { loadFiles } from '../model/deployment.ts';
import { startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { migrateDatabase, openCachedStore } from '../storage.ts';
import { bundleOfEvents, bundlesUpTo, EVENTS_PER_BUNDLE, numberedBundle } from './numbered-bundles.ts';
import '../without-coverage.ts';

const ROUNDS = IS_LONG ? 24 : 3;
/**
 * Run in sequence, each with its own servers and database, since every round makes the data larger.
 */
const SERIES = IS_LONG ? 4 : 1;
/** Bundles 0 and 1 are imported without kills. */
const FIRST = 2;
const RECOVERED_MS = 60_000;
const PAUSE_MS = 100;
const ORGANIZATION = 'killed';
const VICTIMS = ['import', 'database', 'server'] as const;
type Victim = (typeof VICTIMS)[number];

/**
 * When to kill, as a fraction of the time that a whole import takes from its start, or from its
 * lock, to its end.
 */
const momentArbitrary = fc.noBias(
  fc.record({
    from: fc.constantFrom('start', 'lock'),
    part: fc.integer({ min: 0, max: 1_100 }).map((thousandths) => thousandths / 1_000),
  }),
);
type Moment = { readonly from: 'start' | 'lock'; readonly part: number };

const folder = temporaryFolder();

for (let series = 0; series < SERIES; series += 1) {
  describe('imports, servers and the database, killed at random moments', () => playSeries(series));
}

function playSeries(series: number): void {
  let postgres: Throwaway;
  let url: string;
  let store: Store;
  let database: PostgresDatabase;
  let key: string;
  let server: Serving;
  const ends: (() => void)[] = [];
  /** The duration of a whole import. */
  const wholeMs = { start: 0, lock: 0 };
  /**
   * The bundle being imported: the client may see it or the one before. Failures are allowed for
   * the victim.
   */
  const now = { number: 0, victim: undefined as Victim | undefined };

  before(async () => {
    postgres = await startPostgres();
    url = await postgres.newDatabase();
    await migrateDatabase(url);
    store = await openCachedStore(url, join(folder, `cache-${series}`));
    database = new PostgresDatabase(url);
    await writeBundle(folderOf(0), numberedBundle(0), 'ndjson');
    await store.createOrganization(ORGANIZATION, {});
    await loadFiles(store, ORGANIZATION, [folderOf(0)]);
    // The very first import stores every chunk, and takes longer than others.
    const second = await startImport(1);
    const startMs = performance.now();
    await untilLocked(second);
    const lockMs = performance.now();
    assert.equal(await second.ended, 0, await second.said);
    Object.assign(wholeMs, { start: performance.now() - startMs, lock: performance.now() - lockMs });
    key = (await runJson(['keys', 'create', '--organization', ORGANIZATION, '--database', url])).key;
    server = await startServer(0);
  });
  after(async () => {
    for (const end of ends) end();
    await store.close();
    await database.close();
    await postgres.stop();
  });

  /** Alternates between datasets in memory and datasets read from the file. */
  async function startServer(number: number): Promise<Serving> {
    const limit = number % 2 === 0 ? '0' : '2GB';
    const words = ['serve', '--workers', '1', '--resident-limit', limit, '--database', url];
    return await serving({ after: (end) => ends.push(end) }, words);
  }

  const folderOf = (number: number) => join(folder, `bundle-${number}`);

  async function startImport(number: number) {
    await writeBundle(folderOf(number), numberedBundle(number), 'ndjson');
    const child = start(['import', folderOf(number), '--organization', ORGANIZATION, '--database', url]);
    child.stdout?.resume();
    const said = text(child.stderr!);
    const ended = once(child, 'close').then(([code]): number | null => code);
    return { child, said, ended };
  }
  type Import = Awaited<ReturnType<typeof startImport>>;

  /** The number of commands that hold the publication lock. */
  async function locks(): Promise<number> {
    const sql = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    return (await database.rows(sql)).length;
  }

  async function untilLocked({ child }: Import): Promise<void> {
    while (child.exitCode === null && (await locks()) === 0) await delay(5);
  }

  async function waitFor(importing: Import, { from, part }: Moment): Promise<void> {
    if (from === 'lock') await untilLocked(importing);
    await Promise.race([delay(part * wholeMs[from]), importing.ended]);
  }

  async function kill(victim: Victim, importing: Import, number: number): Promise<void> {
    if (victim === 'import') importing.child.kill('SIGKILL');
    if (victim === 'database') {
      await postgres.crash();
      await postgres.start();
    }
    if (victim === 'server') {
      server.child.kill('SIGKILL');
      await once(server.child, 'exit');
      server = await startServer(number);
    }
  }

  /**
   * The number of the bundle that the served events end with; absent: no response, which the victim
   * of the round must explain.
   */
  async function servedBundle(): Promise<number | undefined> {
    const before = { ...now };
    const isVictim = (victim: Victim) => before.victim === victim || now.victim === victim;
    const asking = fetch(`${server.printed['Variant A']}/v1/events`, { headers: { apikey: key } });
    const reply = await asking
      .then(async (response) => ({ status: response.status, body: await response.text() }))
      .catch((error: Error) => ({ status: 0, body: `${error.message} (${String(error.cause)})` }));
    if (reply.status === 200) {
      const number = bundleOfEvents(reply.body);
      assert.ok(before.number - 1 <= number && number <= now.number, `${number} during ${now.number}`);
      return number;
    }
    const isAway = reply.status === 503 && reply.body.includes('"code":"database-away"');
    const isCut = reply.status === 0 && !reply.body.includes('ECONNREFUSED');
    assert.ok(
      (isVictim('database') && (isAway || isCut)) || (isVictim('server') && reply.status === 0),
      `${now.victim} was killed, and the answer is ${reply.status}: ${reply.body}`,
    );
    return undefined;
  }

  const untilServed = (number: number) => until(async () => (await servedBundle()) === number, RECOVERED_MS);

  async function publishedBundle(): Promise<number> {
    const dataset = await store.openDataset(ORGANIZATION);
    await dataset?.close();
    return (dataset?.counts.events ?? 0) / EVENTS_PER_BUNDLE - 1;
  }

  /** Returns whether the import was killed or aborted before it had published. */
  async function playRound(number: number, victim: Victim, moment: Moment): Promise<boolean> {
    Object.assign(now, { number, victim });
    const importing = await startImport(number);
    await waitFor(importing, moment);
    await kill(victim, importing, number);
    const code = await importing.ended;
    if (victim === 'server') assert.equal(code, 0, await importing.said);
    await until(() => publishedBundle().then(Number.isFinite, () => false), RECOVERED_MS);
    const published = await publishedBundle();
    assert.ok(published === number || (published === number - 1 && code !== 0), `${published} is published`);
    await untilServed(published);
    now.victim = undefined;
    const again = await loadFiles(store, ORGANIZATION, [folderOf(number)]);
    assert.equal(again.published, published !== number);
    await untilServed(number);
    return published !== number;
  }

  it(`leave every version whole and the next import to complete, ${ROUNDS} times`, async (t) => {
    t.diagnostic(`CORKBOARD_SEED=${seed + series}`);
    const random = fc.sample(momentArbitrary, { seed: seed + series, numRuns: ROUNDS });
    // The first import is ended as soon as it has its turn, so at least one is ended before it has
    // published.
    const moments = [{ from: 'lock', part: 0 } as const, ...random.slice(1)];
    let ended = false;
    const keepAsking = async () => {
      for (; !ended; await delay(PAUSE_MS)) await servedBundle();
    };
    const playAll = async () => {
      let unpublished = 0;
      for (const [index, moment] of moments.entries()) {
        const victim = VICTIMS[index % VICTIMS.length] ?? 'import';
        const about = `round ${index}: ${victim}, ${moment.part} of an import after ${moment.from}`;
        try {
          if (await playRound(FIRST + index, victim, moment)) unpublished += 1;
        } catch (error) {
          throw new Error(about, { cause: error });
        }
      }
      t.diagnostic(`${unpublished} imports were ended before they had published`);
      assert.ok(unpublished > 0);
    };
    await Promise.all([keepAsking(), playAll().finally(() => (ended = true))]);
    await assertAsIfNeverKilled();
    await assertNothingLeftBehind();
  });

  /**
   * All bundles at once, without a kill, give the same bytes, except for the id and name of the
   * organization.
   */
  async function assertAsIfNeverKilled(): Promise<void> {
    await writeBundle(join(folder, 'control'), bundlesUpTo(FIRST + ROUNDS - 1), 'ndjson');
    await loadFiles(store, 'control', [join(folder, 'control')]);
    const { key: other } = await runJson([
      ...['keys', 'create', '--organization', 'control', '--database', url],
    ]);
    const [events, control] = await Promise.all(
      [key, other].map(async (apikey) => {
        const response = await fetch(`${server.printed['Variant A']}/v1/events`, { headers: { apikey } });
        return (await response.text()).replaceAll(/"organization":\{[^}]*\}/g, '');
      }),
    );
    assert.ok(events === control, 'the events are those of the control');
  }

  /** No lock remains, and after one more import no chunk that no version needs. */
  async function assertNothingLeftBehind(): Promise<void> {
    await writeBundle(folderOf(FIRST + ROUNDS), numberedBundle(FIRST + ROUNDS), 'ndjson');
    await loadFiles(store, ORGANIZATION, [folderOf(FIRST + ROUNDS)]);
    const versions = await database.rows(
      'SELECT folder, manifest FROM versions JOIN organizations USING (organization) WHERE manifest IS NOT NULL',
    );
    const needed = versions.flatMap(([organizationFolder, manifest]) =>
      decodeManifest(manifest as Uint8Array).chunks.map((chunk) =>
        chunkName(String(organizationFolder), chunk),
      ),
    );
    const stored = (await database.rows('SELECT name FROM chunks')).map(([name]) => String(name));
    assert.deepEqual(stored.toSorted(), [...new Set(needed)].toSorted());
    // The backend of a closed connection ends a moment later.
    await until(async () => (await locks()) === 0);
  }
}
