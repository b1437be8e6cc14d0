import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gatherLines } from '../../src/server/log-lines.ts';
import { openStand, until } from './stand.ts';

const LOG_LINES = join(import.meta.dirname, '../../src/server/log-lines.ts');

function openLines() {
  const pieces: string[] = [];
  return { pieces, lines: gatherLines({ write: (piece) => void pieces.push(piece) }) };
}

/** As the logger hands a line over. */
function logLine(lines: ReturnType<typeof gatherLines>, level: number, text: string): void {
  lines.lastLevel = level;
  lines.write(`${text}\n`);
}

describe('lines of the log', () => {
  it('leave together after a moment, in order', async () => {
    const { lines, pieces } = openLines();
    logLine(lines, 30, 'one');
    logLine(lines, 20, 'two');
    assert.deepEqual(pieces, []);
    await until(() => pieces.length > 0);
    assert.deepEqual(pieces, ['one\ntwo\n']);
    logLine(lines, 30, 'three');
    await until(() => pieces.length > 1);
    assert.deepEqual(pieces, ['one\ntwo\n', 'three\n']);
  });

  it('leave at once with a warning or worse, after those before it, and none twice', async () => {
    const { lines, pieces } = openLines();
    logLine(lines, 30, 'one');
    logLine(lines, 40, 'two');
    logLine(lines, 60, 'three');
    assert.deepEqual(pieces, ['one\ntwo\n', 'three\n']);
    logLine(lines, 30, 'four');
    await until(() => pieces.length > 2);
    assert.deepEqual(pieces.slice(2), ['four\n']);
  });

  it('leave at once when they are many', () => {
    const { lines, pieces } = openLines();
    const long = 'x'.repeat(1_000);
    for (let line = 0; line < 17; line += 1) logLine(lines, 30, long);
    assert.deepEqual(pieces, [`${long}\n`.repeat(17)]);
  });

  it('leave when the process is ended, also by a failure', () => {
    for (const end of ['process.exit()', 'throw new Error()']) {
      const script = `
        import { gatherLines } from ${JSON.stringify(LOG_LINES)};
        import { writeSync } from 'node:fs';
        const lines = gatherLines({ write: (piece) => writeSync(1, piece) });
        lines.write('one\\n');
        lines.info({ two: 2 }, 'three');
        ${end}`;
      const told = spawnSync(process.execPath, ['--input-type=module', '--eval', script]).stdout.toString();
      assert.match(told, /^one\n\{"level":30,"time":\d{13},"two":2,"msg":"three"\}\n$/);
    }
  });

  it('have one form, whoever writes them, and those of requests obey the level', async () => {
    const stand = await openStand();
    await stand.get('/livez');
    await until(() => stand.log.some((line) => line['msg'] === 'request'));
    for (const line of stand.log) {
      assert.deepEqual(Object.keys(line).slice(0, 2), ['level', 'time']);
      assert.equal(line['level'], 30);
      assert.ok(Math.abs(Number(line['time']) - Date.now()) < 60_000);
      assert.equal(Object.keys(line).at(-1), 'msg');
    }
    assert.ok(stand.log.some((line) => line['msg'] !== 'request'));
    await stand.close();

    const quiet = await openStand({ logLevel: 'warn' });
    await quiet.get('/livez');
    await quiet.close();
    // What comes later leaves later, too.
    const { lines, pieces } = openLines();
    logLine(lines, 30, 'last');
    await until(() => pieces.length > 0);
    assert.deepEqual(quiet.log, []);
  });
});
