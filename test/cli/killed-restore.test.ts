/**
 * Backups and restores that are killed at random moments: there is no half of a backup, and either
 * all organizations are restored, or none.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { numberedBundle } from '../import/numbered-bundles.ts';
import { killRounds, momentsToKill, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { writeBundle } from '../model/bundle.ts';
import { run, runJson, start, temporaryFolder } from './command.ts';
import {
  copyPlace,
  newPlace,
  PATHS,
  PLACE_KINDS,
  type Place,
  responseOf,
  responsesOf,
  serving,
} from './places.ts';
import '../without-coverage.ts';

const ROUNDS = killRounds(1);
const NAMES = ['college', 'school'] as const;
const folder = temporaryFolder();

async function load(place: Place, number: number): Promise<void> {
  const files = join(folder, `bundle-${number}`);
  await writeBundle(files, numberedBundle(number), 'ndjson');
  for (const name of NAMES) await runJson(['import', files, '--organization', name, ...place.words]);
}

/**
 * Runs a command and kills it after a delay. Returns how many milliseconds it took if it had ended
 * before.
 */
async function killAfter(ms: number, words: readonly string[]): Promise<number | undefined> {
  const startedMs = performance.now();
  const child: ChildProcess = start(words);
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), ms);
  await ended;
  clearTimeout(timer);
  if (child.exitCode === 0) return performance.now() - startedMs;
  assert.equal(child.signalCode, 'SIGKILL', 'the command failed');
  return undefined;
}

/** How long a restore takes that is not killed. */
let restoringMs: number | undefined;

/** How long the command takes when it is not killed. */
async function durationOf(words: readonly string[]): Promise<number> {
  const wholeMs = await killAfter(600_000, words);
  assert.ok(wholeMs !== undefined);
  return wholeMs;
}

for (const kind of PLACE_KINDS) {
  describe(`of a ${kind}`, () => {
    const backup = join(folder, `${kind}-backup`);
    let place: Place;
    let keys: readonly string[];
    let old: readonly string[];
    before(async () => {
      place = await newPlace(kind, folder);
      await load(place, 0);
      const created = NAMES.map((name) =>
        runJson(['keys', 'create', '--organization', name, ...place.words]),
      );
      keys = (await Promise.all(created)).map(({ key }) => key);
      old = await responsesOf(place, keys);
      await runJson(['backup', backup, ...place.words]);
    });

    // A backup only reads the place, and writes the same files for each kind.
    const killsBackups = kind === 'folder' || IS_LONG;
    if (killsBackups)
      it(`a killed backup leaves the data as it is and no half of a backup, ${ROUNDS} times`, async (t) => {
        tellSeed(t);
        let wholeMs = await durationOf(['backup', `${backup}-whole`, ...place.words]);
        let killed = 0;
        for (const moment of momentsToKill(ROUNDS, () => killed > 0)) {
          const other = `${backup}-${randomUUID()}`;
          const endedMs = await killAfter(wholeMs * moment, ['backup', other, ...place.words]);
          if (endedMs === undefined) killed += 1;
          else wholeMs = endedMs;
          if (existsSync(other)) assert.equal((await run(['check', '--backup', other])).code, 0);
          else await runJson(['backup', other, ...place.words]);
        }
        assert.deepEqual(await responsesOf(place, keys), old);
      });

    it(`a killed restore has restored all organizations or none, ${ROUNDS} times`, async (t) => {
      tellSeed(t);
      const newer = await copyPlace(place, folder);
      await load(newer, 1);
      const later = await serving(newer, (url) => responseOf(url, PATHS[0]!, keys[0]!));
      const restoreTo = ({ words }: Place) => ['restore', backup, '--replace', ...words];
      restoringMs ??= await durationOf(restoreTo(await copyPlace(newer, folder)));
      let wholeMs = restoringMs;
      let killed = 0;
      for (const moment of momentsToKill(ROUNDS, () => killed > 0)) {
        const target = await copyPlace(newer, folder);
        const restore = restoreTo(target);
        const bodyOf = (line = '') => line.slice(line.indexOf('['));
        const endedMs = await killAfter(wholeMs * (0.4 + 0.6 * moment), restore);
        if (endedMs === undefined) killed += 1;
        else wholeMs = endedMs;
        const seen = await responsesOf(target, keys);
        const isOld = seen[0] === old[0];
        if (isOld) assert.deepEqual(seen, old, `at ${moment}`);
        else assert.equal(bodyOf(seen[0]), bodyOf(later), `at ${moment}`);
        const [first, second] = [0, PATHS.length];
        assert.equal(seen[second] === old[second], seen[first] === old[first], `at ${moment}: half`);
        await runJson(restore);
        assert.deepEqual(await responsesOf(target, keys), old);
        assert.equal((await run(['check', ...target.words])).code, 0);
      }
    });
  });
}
