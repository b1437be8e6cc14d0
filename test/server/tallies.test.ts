import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Tallies } from '../../src/server/tallies.ts';

/** What has been counted, a list of durations for each set of labels. */
function openTallies() {
  const counted = new Map<string, number[]>();
  let sentBytes = 0;
  const tallies = new Tallies(({ route, method, status, durationsS, bytes }) => {
    sentBytes += bytes;
    const labels = `${method} ${route} ${status}`;
    counted.set(labels, [...(counted.get(labels) ?? []), ...durationsS]);
  });
  return { tallies, counted, sent: () => sentBytes };
}

describe('requests that have ended', () => {
  it('are counted under their own labels, each once, when the figures are asked for', () => {
    const { tallies, counted, sent } = openTallies();
    tallies.add('/a', 'GET', 200, 1, 10);
    tallies.add('/a', 'GET', 404, 2, 100);
    tallies.add('/a', 'HEAD', 200, 3, 1000);
    tallies.add('/b', 'GET', 200, 4, 10000);
    tallies.add('/a', 'GET', 200, 5, 100000);
    assert.equal(counted.size, 0);
    assert.equal(sent(), 0);
    tallies.countAll();
    tallies.countAll();
    tallies.add('/b', 'GET', 200, 6, 1000000);
    tallies.countAll();
    assert.deepEqual(Object.fromEntries(counted), {
      'GET /a 200': [1, 5],
      'GET /a 404': [2],
      'HEAD /a 200': [3],
      'GET /b 200': [4, 6],
    });
    assert.equal(sent(), 1_111_110);
  });

  it('do not wait in numbers when nobody asks', () => {
    const { tallies, counted } = openTallies();
    const durations = Array.from({ length: 1_000 }, (_, duration) => duration);
    for (const duration of durations) tallies.add('/a', 'GET', 200, duration, 100);
    assert.deepEqual(counted.get('GET /a 200'), durations);
    for (const duration of durations) tallies.add('/a', 'GET', 200, duration, 100);
    assert.deepEqual(counted.get('GET /a 200'), [...durations, ...durations]);
  });
});
