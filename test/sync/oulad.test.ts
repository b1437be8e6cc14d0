/**
 * A copy of real events, whose sync is killed at random moments: it is always one of the two states
 * that the server had, and in the end the second. Each Parquet file is as in one of the two.
 * Long runs use all million events.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { runJson, start, temporaryFolder } from '../cli/command.ts';
import { momentsToKill, spreadMoments, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { EMPTY_BUNDLE, type EventInput } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { deletionRecords, NO_DELETIONS } from '../model/deletions.ts';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { makeOuladBundle, readPacked } from '../oulad-bundle.ts';
import { whyWithout } from '../real-data.ts';
import { until } from '../server/stand.ts';
import { BUCKET, DATABASES, type LargePlace, PARQUET, type PlaceKind } from './copies.ts';
import { type CopyDigest, digestOfCopy, digestOfServer, EMPTY_DIGEST, isMixtureOf } from './digests.ts';
import '../without-coverage.ts';

const KILLS = IS_LONG ? 20 : 2;
const INCREMENT_KILLS = IS_LONG ? 5 : 1;
/** The others are killed with little data in `kill.test.ts`. */
const KINDS: readonly PlaceKind<LargePlace>[] = IS_LONG
  ? [...DATABASES, PARQUET, BUCKET]
  : [...DATABASES.slice(0, 1), PARQUET];
/** Students and tutors of the complete bundle and of its sixteenth. */
const ERASED = 293_824n;
const RENAMED = { id: 90_000_001n, email: 'tutor.renamed@open.example', name: 'Tutor "Renamed" Ångström' };
/** Above all ids of the bundle. */
const FIRST_NEW = 5_000_000n;
const SOME = 500;

const folder = temporaryFolder();
const skip = whyWithout('oulad');

describe('a copy of real events, killed at random moments', { skip }, () => {
  let bundle: string;
  let deployment: Deployment;
  let url: string;
  let key: string;
  before(async () => {
    bundle = await makeOuladBundle();
  });
  after(() => rm(bundle, { recursive: true }));
  // Each target sees the same increment.
  beforeEach(async () => {
    deployment = await openDeployment();
    await loadFiles(deployment.store, 'oulad', [bundle]);
    url = `${deployment.url}/a`;
    key = await deployment.makeKey('oulad');
  });
  afterEach(() => deployment.close());

  for (const kind of KINDS) {
    it(`is complete or as before in ${kind.name}, and equals the server in the end`, async (t) => {
      tellSeed(t);
      const first = await digestOfServer(url, key);
      const whole = await kind.make(folder);
      const firstMs = await syncWhole(whole, first);
      const place = await killFirstRuns(t, kind, firstMs, first);
      await syncWhole(place, first);
      await publishIncrement();
      const second = await digestOfServer(url, key);
      assert.notEqual(second.events, first.events);
      const secondMs = await syncWhole(whole, second);
      await killSecondRuns(t, kind, place, secondMs, [first, second]);
      await syncWhole(place, second);
    });
  }

  /** Returns the copy of the last killed run. */
  async function killFirstRuns(
    t: TestContext,
    kind: PlaceKind<LargePlace>,
    wholeMs: number,
    first: CopyDigest,
  ) {
    let place = await kind.make(folder);
    let killed = 0;
    for (const moment of momentsToKill(KILLS, () => killed > 0)) {
      if ((await syncUntil(place, moment * wholeMs)).signal === 'SIGKILL') killed += 1;
      const found = await digestOfCopy(place);
      if (isDeepStrictEqual(found, EMPTY_DIGEST)) continue;
      assertState(kind, found, [EMPTY_DIGEST, first]);
      // The run was killed while it changed files.
      if (!isDeepStrictEqual(found, first)) await syncWhole(place, first);
      place = await kind.make(folder);
    }
    t.diagnostic(`${kind.name}: ${killed} first runs killed, of ${Math.round(wholeMs)} ms each`);
    return place;
  }

  async function killSecondRuns(
    t: TestContext,
    kind: PlaceKind<LargePlace>,
    place: LargePlace,
    wholeMs: number,
    [first, second]: readonly [CopyDigest, CopyDigest],
  ): Promise<void> {
    let killed = 0;
    for (const moment of spreadMoments(INCREMENT_KILLS)) {
      if ((await syncUntil(place, moment * wholeMs)).signal === 'SIGKILL') killed += 1;
      const found = await digestOfCopy(place);
      if (isDeepStrictEqual(found, first)) continue;
      assertState(kind, found, [first, second]);
      break;
    }
    t.diagnostic(`${killed} runs after an increment killed, of ${Math.round(wholeMs)} ms each`);
  }

  /** All of the second state, or some of its files. */
  function assertState(
    kind: PlaceKind<LargePlace>,
    found: CopyDigest,
    [former, next]: readonly [CopyDigest, CopyDigest],
  ): void {
    if (!DATABASES.some((one) => one === kind) && isMixtureOf(found, former, next)) return;
    assert.deepEqual(found, next);
  }

  /** Completes the copy; returns how long it took. */
  async function syncWhole(place: LargePlace, expected: CopyDigest): Promise<number> {
    const startMs = performance.now();
    const { code, stderr } = await syncUntil(place, undefined);
    const elapsedMs = performance.now() - startMs;
    assert.equal(code, 0, stderr);
    assert.deepEqual(await digestOfCopy(place), expected);
    return elapsedMs;
  }

  /** Kills the command after a time, unless it has ended before. */
  async function syncUntil({ address }: LargePlace, killMs: number | undefined) {
    const child = start(['sync', url, '--to', address], { CORKBOARD_SYNC_KEY: key });
    const ended = once(child, 'close');
    child.stdout?.resume();
    const stderr = text(child.stderr!);
    if (killMs !== undefined) {
      await Promise.race([delay(killMs), ended]);
      child.kill('SIGKILL');
    }
    await ended;
    return { code: child.exitCode, signal: child.signalCode, stderr: await stderr };
  }

  /** New, corrected and deleted events, a renamed tutor, and an erased student. */
  async function publishIncrement(): Promise<void> {
    const events = await someEvents(3 * SOME);
    await deployment.load('oulad', {
      ...EMPTY_BUNDLE,
      users: [RENAMED],
      events: [
        ...events.slice(0, SOME).map((event, at) => ({ ...event, id: FIRST_NEW + BigInt(at) })),
        ...events.slice(SOME, 2 * SOME).map((event) => ({ ...event, action: 'corrected' })),
      ],
    });
    const deleted = events.slice(2 * SOME).flatMap(({ id }) => (id === undefined ? [] : { id }));
    await deployment.load('oulad', deletionRecords({ ...NO_DELETIONS, events: deleted }));
    const data = ['--data', join(deployment.folder, 'data')];
    await runJson(['forget', '--organization', 'oulad', '--user', String(ERASED), ...data]);
    // The server has switched to the last of these versions.
    await until(async () => (await get(`${url}/v1/events/user/${ERASED}`, key)).text === '[]');
  }

  /** The first events of the bundle; none of them is of the erased student. */
  async function someEvents(count: number): Promise<EventInput[]> {
    const [, ...lines] = readPacked(join(bundle, 'events.csv.gz')).trimEnd().split('\n');
    const rows = lines.map((line) => line.trim().split(','));
    return rows
      .filter(([, , , , actor]) => actor !== String(ERASED))
      .slice(0, count)
      .map(([id, type = '', action = '', owner, actor, board, pin, timestamp = '']) => ({
        ...{ id: BigInt(id ?? ''), type, action, timestamp },
        ...{ owner_id: BigInt(owner ?? ''), actor_id: BigInt(actor ?? ''), board_id: BigInt(board ?? '') },
        ...(pin !== '' && { pin_id: BigInt(pin ?? '') }),
      }));
  }
});
