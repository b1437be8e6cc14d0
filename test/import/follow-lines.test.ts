/**
 * `import --follow` of a stream publishes lines as they arrive, exactly once, even if the process
 * is killed and the stream is sent again (decision 57).
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { run, runJson, temporaryFolder } from '../cli/command.ts';
import { killRounds, spreadMoments, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import {
  copyPrepared,
  countEvents,
  eventLine,
  eventsOf,
  followedToEnd,
  following,
  prepare,
  type Told,
} from './following.ts';
import '../without-coverage.ts';

const folder = temporaryFolder();
let prepared: readonly string[];
before(async () => {
  prepared = await prepare(folder, 'lines');
});

const copyOfPrepared = (name: string) => copyPrepared(prepared, folder, name);

/** The number of events in the small bundle. */
const BEFORE = 3;
const KILLS = killRounds(2);
const TOTAL = IS_LONG ? 4000 : 2000;
const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => eventLine(from + index)).join('');

describe('import - --follow', () => {
  it('publishes arriving lines, reports their number, and publishes the rest at the end of the input', async () => {
    const into = copyOfPrepared('stream');
    const { child, told, untilTold, ended } = following('-', into);
    const [one, two] = [numbered(0, 20), numbered(20, 5)];
    child.stdin?.write(one);
    await untilTold(1);
    assert.equal(await countEvents(into), BEFORE + 20, 'reported events are published');
    // Half a line waits for its other half.
    child.stdin?.write(two.slice(0, -10));
    await untilTold(2);
    child.stdin?.end(two.slice(-10).trimEnd());
    assert.equal((await ended).code, 0);
    const length = one.length + two.length - 1;
    assert.deepEqual(
      told.map(({ outcome, lines, bytes, eventsAdded }) => [outcome, lines, bytes, eventsAdded]),
      [
        ['published', 20, one.length, 20],
        ['published', 24, one.length + two.lastIndexOf('{'), 4],
        ['published', 25, length, 1],
      ],
    );
    assert.equal(await countEvents(into), BEFORE + 25);
  });

  it('ends at SIGTERM with all whole lines published, and after a restart imports repeated lines once', async () => {
    const into = copyOfPrepared('stopped');
    const first = following('-', into);
    const lines = numbered(0, 30);
    first.child.stdin?.write(eventLine(0));
    await first.untilTold(1);
    const rest = lines.slice(eventLine(0).length, -5);
    await new Promise((resolve) => first.child.stdin?.write(rest, resolve));
    first.child.kill('SIGTERM');
    assert.equal((await first.ended).code, 0);
    assert.equal(first.told.at(-1)?.lines, 29);
    const second = await followedToEnd('-', into, lines);
    assert.equal(second.code, 0, second.stderr);
    assert.equal(sumOf(second), 1);
    assert.equal(await countEvents(into), BEFORE + 30);
  });

  it('stops before an invalid line, publishes those before it, and reports its place in the stream', async () => {
    const into = copyOfPrepared('bad');
    const { child, told, untilTold, ended } = following('-', into);
    child.stdin?.write(numbered(0, 10));
    await untilTold(1);
    const unknown = eventLine(12).replace('"actor_id":1', '"actor_id":99');
    child.stdin?.end(`${numbered(10, 2)}${unknown}${numbered(13, 3)}no JSON\n${numbered(16, 3)}`);
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /^-:13: actor_id: /m);
    assert.match(stderr, /^corkboard: Line 13 is invalid; the 12 lines before it were published\./m);
    assert.deepEqual(told.at(-1), { ...told.at(-1), lines: 12, bytes: numbered(0, 12).length });
    assert.equal(await countEvents(into), BEFORE + 12);
  });

  it('reports in plain text, too, and says when nothing was new', async () => {
    const into = copyOfPrepared('people');
    const follow = async () => await run(['import', '-', '--follow', ...into], { input: numbered(0, 2) });
    const [first, second] = [await follow(), await follow()];
    assert.match(first.stdout, /^2 lines, 2\d\d bytes read so far: published as version \S+\n$/);
    assert.match(second.stdout, /^2 lines, 2\d\d bytes read so far: nothing new\n$/);
  });

  it('publishes nothing if the first line is invalid', async () => {
    const into = copyOfPrepared('first');
    const { code, stdout, stderr } = await run(['import', '-', '--follow', ...into], {
      input: `{}\n${eventLine(1)}`,
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /Line 1 is invalid; nothing was published\./);
  });

  it('with --skip-invalid sets invalid lines aside, in all publications and all runs, and continues', async () => {
    const into = copyOfPrepared('aside');
    const rejects = join(folder, 'rejects.ndjson');
    const { child, told, untilTold, ended } = following('-', [...into, '--skip-invalid', rejects]);
    child.stdin?.write(`${numbered(0, 2)}no JSON\n`);
    await untilTold(1);
    child.stdin?.end(`${numbered(2, 2)}{"id": "x"}\n${numbered(4, 1)}`);
    assert.equal((await ended).code, 0);
    const again = await followedToEnd('-', [...into, '--skip-invalid', rejects], 'worse\n');
    assert.equal(again.code, 0, again.stderr);
    const set = readFileSync(rejects, 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      set.map((line) => [JSON.parse(line).line, JSON.parse(line).record]),
      [
        [3, 'no JSON'],
        [6, '{"id": "x"}'],
        [1, 'worse'],
      ],
    );
    assert.equal(told.at(-1)?.lines, 7);
    assert.equal(await countEvents(into), BEFORE + 5);
  });

  it(`killed ${KILLS} times at random moments and sent again, ends with every event once`, async (t) => {
    tellSeed(t);
    const moments = spreadMoments(KILLS);
    const into = copyOfPrepared('killed');
    let sent = 0;
    let published = 0;
    for (let round = 0; round <= KILLS; round += 1) {
      const follower = following('-', into);
      const { child, told, untilTold, ended } = follower;
      const from = published;
      const sending = send(child, from, round === KILLS);
      if (round < KILLS) {
        // After the first publication, or before it.
        if (round % 3 > 0) await untilTold(1);
        await delay((moments[round] ?? 0) * 600);
        child.kill('SIGKILL');
      }
      sent += await sending;
      const { signal, code, stderr } = await ended;
      assert.ok(round < KILLS ? signal === 'SIGKILL' : code === 0, stderr);
      // Reported lines are published; a sender that has not received the report sends them again.
      const heard = from + (told.at(-1)?.lines ?? 0);
      assert.ok((await countEvents(into)) >= BEFORE + heard);
      published = round % 4 === 0 || heard === TOTAL ? 0 : heard;
    }
    assert.ok(sent > TOTAL, `sent ${sent} lines, none of them twice`);
    const control = copyOfPrepared('control');
    await runJson(['import', '-', '--as', 'events', ...control], numbered(0, TOTAL));
    const wanted = await eventsOf(folder, control);
    assert.equal(wanted.length, TOTAL);
    assert.ok((await eventsOf(folder, into)).join() === wanted.join(), 'the events are those of the control');
  });

  it('accepts statements of other software, too', async () => {
    const into = ['--organization', 'statements', '--data', join(folder, 'data')];
    const statement = (id: number) =>
      `${JSON.stringify({
        id: `${id}`,
        actor: { mbox: 'mailto:ada@x.example' },
        verb: { id: 'http://x.example/viewed' },
        object: { id: 'http://x.example/course', definition: { type: 'http://x.example/course' } },
        timestamp: '2026-01-05T08:00:00Z',
      })}\n`;
    for (const input of [statement(1), `${statement(1)}${statement(2)}`]) {
      const { code, stderr } = await followedToEnd('-', ['--as', 'xapi', ...into], input);
      assert.equal(code, 0, stderr);
    }
    assert.equal(await countEvents(into), 2);
  });

  for (const [what, words, message] of [
    ['a file', [join(import.meta.dirname, 'following.ts'), '--follow'], /is not a folder/],
    ['two things', ['-', '.', '--follow'], /requires exactly one folder, or -/],
    ['a dry run', ['-', '--follow', '--dry-run'], /Leave out --dry-run/],
    ['--every alone', ['-', '--every', '1'], /--every requires --follow/],
    ['no time at all', ['-', '--follow', '--every', '0'], /a number of seconds above 0/],
    ['files about one another', ['.', '--follow', '--as', 'discourse'], /refer to each other/],
    ['a log that is read twice', ['-', '--follow', '--as', 'moodle-log', '--time-zone', 'UTC'], /read twice/],
    [
      'rejects among the files',
      [folder, '--follow', '--skip-invalid', join(folder, 'x')],
      /outside the followed folder/,
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const into = ['--organization', 'misuse', '--data', join(folder, 'misuse')];
      const { code, stderr } = await run(['import', ...words, ...into], { input: eventLine(1) });
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    });
  }
});

/** Sends from a line on, slowly, until the receiver is gone; returns the number of lines. */
async function send({ stdin, exitCode }: ChildProcess, from: number, isLast: boolean): Promise<number> {
  assert.ok(stdin && exitCode === null);
  for (let at = from; at < TOTAL; at += 50) {
    if (stdin.destroyed) return at - from;
    stdin.write(numbered(at, Math.min(50, TOTAL - at)));
    await delay(10);
  }
  if (isLast) stdin.end();
  return TOTAL - from;
}

function sumOf({ told }: { readonly told: readonly Told[] }): number {
  return told.reduce((sum, { eventsAdded }) => sum + eventsAdded, 0);
}
