import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStand, until } from './stand.ts';

describe('the lines of the log', () => {
  it('have one form for all writers, and request lines are subject to the level', async () => {
    const stand = await openStand();
    await stand.get('/livez');
    await until(() => stand.log.some((line) => line['msg'] === 'request'));
    for (const line of stand.log) {
      assert.deepEqual(Object.keys(line).slice(0, 2), ['level', 'time']);
      assert.equal(line['level'], 'info');
      assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(Math.abs(Date.parse(String(line['time'])) - Date.now()) < 60_000);
      assert.equal(Object.keys(line).at(-1), 'msg');
    }
    assert.ok(stand.log.some((line) => line['msg'] !== 'request'));
    await stand.close();

    const quiet = await openStand({ logLevel: 'warn' });
    await quiet.get('/livez');
    await quiet.close();
    assert.deepEqual(quiet.log, []);
  });
});
