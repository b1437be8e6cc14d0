/**
 * `import --follow` of a folder reads every complete file once, even if the process is killed and
 * restarted (decision 57).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '../cli/command.ts';
import { SMALL_BUNDLE } from '../cli/small-bundle.ts';
import { killRounds, spreadMoments, tellSeed } from '../killing.ts';
import {
  copyPrepared,
  countEvents,
  eventLine,
  eventsOf,
  type Following,
  followedToEnd,
  following,
  prepare,
} from './following.ts';
import '../without-coverage.ts';

const folder = temporaryFolder();
const BEFORE = 3;
const KILLS = killRounds(2);
const FILES = 2 * KILLS + 4;

let prepared: readonly string[];
before(async () => {
  prepared = await prepare(folder, 'school');
});

const copyOfPrepared = (name: string) => copyPrepared(prepared, folder, name);

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => eventLine(from + index)).join('');
const inboxOf = (name: string) => {
  const inbox = join(folder, `inbox-${name}`);
  mkdirSync(inbox);
  return inbox;
};
/** Written to a different folder and moved, so that it appears at once. */
const drop = (inbox: string, name: string, content: string | Buffer) => {
  const unfinished = join(folder, `unfinished-${name}`);
  writeFileSync(unfinished, content);
  renameSync(unfinished, join(inbox, name));
};
const filesOf = ({ told }: Following) => told.map(({ file, eventsAdded }) => `${file} ${eventsAdded}`);
const stop = async ({ child, ended }: Following) => {
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  assert.equal(code, 0, stderr);
};

describe('import FOLDER --follow', () => {
  it('imports existing and new files, in the order of a bundle, and creates the organization', async () => {
    const inbox = inboxOf('new');
    for (const [name, content] of Object.entries(SMALL_BUNDLE)) drop(inbox, name, content);
    const into = ['--organization', 'new', '--data', join(folder, 'data-new')];
    const follower = following(inbox, into);
    await follower.untilTold(4);
    drop(inbox, 'events-2.ndjson.gz', gzipSync(numbered(0, 5)));
    drop(inbox, 'notes.ndjson', 'not ours');
    await follower.untilTold(5);
    await stop(follower);
    const wanted = ['users.csv 0', 'boards.csv 0', 'pins.csv 0', 'events.csv 3', 'events-2.ndjson.gz 5'];
    assert.deepEqual(filesOf(follower), wanted);
    assert.equal(await countEvents(into), BEFORE + 5);
  });

  it('imports no file twice, under any name or after a restart, and a changed file as a whole', async () => {
    const inbox = inboxOf('again');
    const into = copyOfPrepared('again');
    drop(inbox, 'events-1.ndjson', numbered(0, 5));
    const first = following(inbox, into);
    await first.untilTold(1);
    copyFileSync(join(inbox, 'events-1.ndjson'), join(inbox, 'events-1-copy.ndjson'));
    drop(inbox, 'events-2.ndjson', numbered(5, 1));
    await first.untilTold(2);
    await stop(first);
    const second = following(inbox, into);
    drop(inbox, 'events-2.ndjson', numbered(5, 2));
    drop(inbox, 'events-3.ndjson', numbered(7, 1));
    await second.untilTold(2);
    await stop(second);
    assert.deepEqual(filesOf(first), ['events-1.ndjson 5', 'events-2.ndjson 1']);
    assert.deepEqual(filesOf(second), ['events-2.ndjson 1', 'events-3.ndjson 1']);
    assert.equal(await countEvents(into), BEFORE + 8);
  });

  it('waits for a file that is being written, and needs no ids', async () => {
    const inbox = inboxOf('growing');
    const into = copyOfPrepared('growing');
    const follower = following(inbox, [...into, '--every', '2']);
    const path = join(inbox, 'events.ndjson');
    const withoutId = (number: number) => eventLine(number).replace(/"id":\d+,/, '');
    writeFileSync(path, '');
    // A half-written line is not a valid record, and would be refused.
    for (let number = 0; number < 20; number += 1) {
      appendFileSync(path, withoutId(number).slice(0, 20));
      await delay(50);
      appendFileSync(path, withoutId(number).slice(20));
    }
    await follower.untilTold(1);
    await stop(follower);
    assert.deepEqual(filesOf(follower), ['events.ndjson 20']);
  });

  it('imports a file with a future time once no process writes to it', async () => {
    const inbox = inboxOf('future');
    const into = copyOfPrepared('future');
    drop(inbox, 'events.ndjson', numbered(0, 2));
    utimesSync(join(inbox, 'events.ndjson'), new Date(2100, 1), new Date(2100, 1));
    const follower = following(inbox, into);
    await follower.untilTold(1);
    await stop(follower);
    assert.deepEqual(filesOf(follower), ['events.ndjson 2']);
  });

  it('ends at an invalid file, with those before it published; --skip-invalid continues', async () => {
    const inbox = inboxOf('bad');
    const into = copyOfPrepared('bad');
    for (const number of [1, 2, 3]) {
      drop(inbox, `events-${number}.ndjson`, `${eventLine(number)}${number === 2 ? 'no JSON\n' : ''}`);
    }
    const { code, stderr, told } = await followedToEnd(inbox, into);
    assert.equal(code, 1);
    assert.match(stderr, /events-2\.ndjson:2: is not valid JSON/);
    assert.match(stderr, /^corkboard: .*events-2\.ndjson is invalid; nothing of it was published\./m);
    assert.deepEqual(
      told.map(({ file }) => file),
      ['events-1.ndjson'],
    );
    const follower = following(inbox, [...into, '--skip-invalid', join(folder, 'aside.ndjson')]);
    await follower.untilTold(2);
    await stop(follower);
    assert.deepEqual(
      follower.told.map(({ file, rejected }) => [file, rejected]),
      [
        ['events-2.ndjson', 1],
        ['events-3.ndjson', 0],
      ],
    );
    assert.equal(await countEvents(into), BEFORE + 3);
  });

  it('keeps separate progress for each organization', async () => {
    const inbox = inboxOf('shared');
    drop(inbox, 'events.ndjson', numbered(0, 4));
    for (const name of ['shared-1', 'shared-2']) {
      const into = await prepare(folder, name);
      const follower = following(inbox, into);
      await follower.untilTold(1);
      await stop(follower);
      assert.equal(await countEvents(into), BEFORE + 4);
    }
    assert.equal(readdirSync(inbox).filter((name) => name.startsWith('.corkboard-followed-')).length, 2);
  });

  it(`killed ${KILLS} times at random moments, ends with every event once`, async (t) => {
    tellSeed(t);
    const inbox = inboxOf('killed');
    const into = copyOfPrepared('killed');
    const perFile = 25;
    let dropped = 0;
    const dropSome = (count: number) => {
      for (const end = Math.min(FILES, dropped + count); dropped < end; dropped += 1) {
        drop(inbox, `events-${dropped}.ndjson`, numbered(dropped * perFile, perFile));
      }
    };
    let told = 0;
    for (const [round, part] of spreadMoments(KILLS).entries()) {
      dropSome(2);
      const follower = following(inbox, into);
      if (round % 3 > 0) await follower.untilTold(1);
      await delay(part * 700);
      follower.child.kill('SIGKILL');
      await follower.ended;
      told += follower.told.length;
    }
    dropSome(FILES);
    // A half-written note of a killed process must not damage the next one.
    for (const name of readdirSync(inbox))
      if (name.startsWith('.corkboard')) appendFileSync(join(inbox, name), '{"na');
    const last = following(inbox, into);
    const sentinel = `events-${FILES - 1}.ndjson`;
    while (last.told.at(-1)?.file !== sentinel) await last.untilTold(last.told.length + 1);
    await stop(last);
    told += last.told.length;
    const wanted = numbered(0, FILES * perFile)
      .trimEnd()
      .split('\n');
    const events = await eventsOf(folder, into);
    assert.deepEqual(
      events.map((line) => line.split(',')[0]),
      wanted.map((line) => String(JSON.parse(line).id)),
    );
    // Only a file whose import ended between the publication and the note is imported again.
    assert.ok(told <= FILES + KILLS, `${told} files were told`);
  });

  it('ends at a link or a pipe, and reads links with --follow-symlinks', async () => {
    const inbox = inboxOf('links');
    const into = copyOfPrepared('links');
    const elsewhere = join(folder, 'elsewhere.ndjson');
    writeFileSync(elsewhere, numbered(0, 2));
    symlinkSync(elsewhere, join(inbox, 'events-1.ndjson'));
    const refused = await followedToEnd(inbox, into);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /events-1.ndjson is a symbolic link.*--follow-symlinks/);
    assert.equal(await countEvents(into), BEFORE);
    const follower = following(inbox, [...into, '--follow-symlinks']);
    await follower.untilTold(1);
    assert.deepEqual(filesOf(follower), ['events-1.ndjson 2']);
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(inbox, 'events-2.ndjson')]);
    const { code, stderr } = await follower.ended;
    assert.equal(code, 1);
    assert.match(stderr, /events-2.ndjson is not a regular file/);
  });

  it('does not write its progress through a link', async () => {
    const inbox = inboxOf('notes');
    const into = copyOfPrepared('notes');
    drop(inbox, 'events-1.ndjson', numbered(0, 1));
    const first = following(inbox, into);
    await first.untilTold(1);
    await stop(first);
    const notes = readdirSync(inbox).find((name) => name.startsWith('.corkboard-followed-')) ?? '';
    const target = join(folder, 'target');
    writeFileSync(target, 'important');
    rmSync(join(inbox, notes));
    symlinkSync(target, join(inbox, notes));
    const { code, stderr } = await followedToEnd(inbox, into);
    assert.equal(code, 1);
    assert.match(stderr, /it is a symbolic link/);
    assert.equal(readFileSync(target, 'utf8'), 'important');
  });
});
