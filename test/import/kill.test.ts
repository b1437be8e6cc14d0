/**
 * Imports are killed at random moments: the published version stays served and whole, and the next
 * import completes (decision 31).
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { seed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { writeBundle } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { bundlesUpTo, countEvents, EVENTS_PER_BUNDLE, numberedBundle } from './numbered-bundles.ts';
import '../without-coverage.ts';

const COMMAND = join(import.meta.dirname, '../../src/cli/main.ts');
const ROUNDS = IS_LONG ? 24 : 2;
/** Run in sequence, since every round makes the data larger. */
const SERIES = IS_LONG ? 5 : 1;

/**
 * Fractions of the time that a whole import takes, and numbers of changes in the data folder.
 * Rounds alternate between the two.
 */
const momentArbitrary = fc.noBias(
  fc.record({
    part: fc.double({ min: 0.2, max: 1.2, noNaN: true }),
    change: fc.integer({ min: 1, max: 30 }),
  }),
);

for (let series = 0; series < SERIES; series += 1) {
  describe('an import that is killed', () => playSeries(seed + series));
}

function playSeries(seedOfSeries: number): void {
  let deployment: Deployment;
  let key: string;

  before(async () => {
    deployment = await openDeployment();
    await deployment.load('killed', numberedBundle(0));
    key = await deployment.makeKey('killed');
  });
  after(() => deployment.close());

  function startImport(folder: string): ChildProcess {
    const words = ['import', folder, '--organization', 'killed', '--data', join(deployment.folder, 'data')];
    return spawn(process.execPath, [COMMAND, ...words], { stdio: 'ignore' });
  }

  async function endOf(child: ChildProcess): Promise<unknown> {
    return child.exitCode ?? child.signalCode ?? (await once(child, 'exit'))[0];
  }

  /**
   * Kills the child after a delay, or at the n-th change in the data folder, depending on the
   * moment.
   */
  async function killAt(
    child: ChildProcess,
    moment: { readonly afterMs: number } | { readonly change: number },
  ) {
    const ended = once(child, 'exit');
    if ('afterMs' in moment) {
      const timer = setTimeout(() => child.kill('SIGKILL'), moment.afterMs);
      await ended;
      clearTimeout(timer);
      return;
    }
    let changes = 0;
    const watcher = watch(join(deployment.folder, 'data'), { recursive: true }, () => {
      changes += 1;
      if (changes === moment.change) child.kill('SIGKILL');
    });
    await ended;
    watcher.close();
  }

  async function served(
    organizationKey = key,
  ): Promise<{ readonly text: string; readonly tag: string | null }> {
    const reply = await get(`${deployment.url}/a/v1/events`, organizationKey);
    assert.equal(reply.status, 200, reply.text);
    return { text: reply.text, tag: reply.headers.get('etag') };
  }

  /** The events of the current version, opened like by a server that starts after the kill. */
  async function eventsOnDisk(): Promise<number | undefined> {
    const dataset = await deployment.store.openDataset('killed');
    await dataset?.close();
    return dataset?.counts.events;
  }

  async function servedOnceItIsNot(tag: string | null): Promise<string> {
    for (let now = await served(); ; now = await served()) {
      if (now.tag !== tag) return now.text;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it(`leaves the old version served and whole, and the next one completes, ${ROUNDS} times`, async (t) => {
    t.diagnostic(`CORKBOARD_SEED=${seedOfSeries}`);
    const random = fc.sample(momentArbitrary, { seed: seedOfSeries, numRuns: ROUNDS });
    const startedMs = performance.now();
    await writeBundle(join(deployment.folder, 'bundle-zero'), numberedBundle(0), 'ndjson');
    assert.equal(await endOf(startImport(join(deployment.folder, 'bundle-zero'))), 0);
    const wholeImportMs = performance.now() - startedMs;
    let kept = 0;
    for (const [index, { part, change }] of random.entries()) {
      const round = index + 1;
      const folder = join(deployment.folder, `bundle-k${round}`);
      await writeBundle(folder, numberedBundle(round), 'ndjson');
      // The first import is killed at its first change, so at least one is killed before it has
      // published.
      const moment =
        round % 2 === 0 ? { afterMs: wholeImportMs * part } : { change: round === 1 ? 1 : change };
      const about = `round ${round}, killed at ${JSON.stringify(moment)}`;
      const old = await served();
      const version = await deployment.store.currentVersion('killed');
      const child = startImport(folder);
      await killAt(child, moment);
      const wasPublished = (await deployment.store.currentVersion('killed')) !== version;
      if (wasPublished) {
        // It was killed after the one step that publishes, or not at all: then the new version must
        // be whole.
        assert.equal(countEvents(await servedOnceItIsNot(old.tag)), (round + 1) * EVENTS_PER_BUNDLE, about);
      } else {
        kept += 1;
        const now = await served();
        assert.ok(now.text === old.text && now.tag === old.tag, `${about}: the old version is served`);
        assert.equal(await eventsOnDisk(), round * EVENTS_PER_BUNDLE, about);
      }
      const next = await deployment.load('killed', numberedBundle(round));
      assert.equal(next.published, !wasPublished, about);
      const text = wasPublished ? (await served()).text : await servedOnceItIsNot(old.tag);
      assert.equal(countEvents(text), (round + 1) * EVENTS_PER_BUNDLE, about);
    }
    t.diagnostic(`${kept} imports were killed before they had published`);
    assert.ok(kept > 0);
    await assertAsIfNeverKilled();
    await assertNothingLeftBehind();
  });

  /**
   * All bundles at once, without a kill, give the same bytes, except for the id and name of the
   * organization.
   */
  async function assertAsIfNeverKilled(): Promise<void> {
    await deployment.load('control', bundlesUpTo(ROUNDS));
    const control = await served(await deployment.makeKey('control'));
    const anonymous = (text: string) => text.replaceAll(/"organization":\{[^}]*\}/g, '');
    assert.ok(
      anonymous((await served()).text) === anonymous(control.text),
      'the events are those of the control',
    );
  }

  async function assertNothingLeftBehind(): Promise<void> {
    const files = await readdir(join(deployment.folder, 'data/organizations/killed'), { recursive: true });
    const generations = files.filter((file) => /^generations\/.*(?<!\.manifest)$/.test(file));
    assert.ok(generations.length <= 3, `left behind: ${generations.join(', ')}`);
  }
}
