import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type ClientA, type ClientB, type InsightsClient, openClient } from '../../src/client/client.ts';
import * as VariantA from '../../src/client/schema-a.ts';
import * as VariantB from '../../src/client/schema-b.ts';
import * as Insights from '../../src/client/schema-insights.ts';
import { GENERATED } from './generate.ts';

/** The method of each operation; the types require one for every new route. */
const LISTS = {
  listEvents: 'events',
  listEventsOfBoard: 'eventsOfBoard',
  listEventsOfPins: 'eventsOfPins',
  listEventsOfUser: 'eventsOfUser',
  listBoards: 'boards',
  listUsers: 'users',
} as const satisfies Record<keyof VariantB.Operations, keyof ClientB>;

const METHODS = {
  ...LISTS,
  getPointsOfBoard: 'pointsOfBoard',
  getPointsOfUser: 'pointsOfUser',
  getPointsOfLti: 'pointsOfLti',
  getPointsOfCourse: 'pointsOfCourse',
  getPointsOfLmsUser: 'pointsOfLmsUser',
} as const satisfies Record<keyof VariantA.Operations, keyof ClientA>;

const FIGURES = {
  getOverview: 'overview',
  getActivity: 'activity',
  getReturning: 'returning',
  getHeatMap: 'heatMap',
  getZone: 'zone',
  rankBoards: 'rankBoards',
  rankUsers: 'rankUsers',
  rankPins: 'rankPins',
  findEvents: 'events',
  listPoints: 'points',
  getParticipation: 'participation',
  getInteractions: 'interactions',
  getAttention: 'attention',
  getLedger: 'ledger',
  getGradebook: 'gradebook',
} as const satisfies Record<keyof Insights.Operations, keyof InsightsClient>;

describe('the schema of the client', () => {
  for (const { file, render } of GENERATED) {
    it(`${file} agrees with the OpenAPI documents`, () => {
      const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
      assert.equal(text, render(), 'Generate it again: node test/client/generate.ts');
    });
  }

  it('has one type named Synced, of events with a sync id', () => {
    for (const { file } of GENERATED) {
      const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
      assert.doesNotMatch(text, /\bSynced\b|sync_token|\btoken\?:/, file);
    }
  });

  it('has a method for every operation, and otherwise only sync and live', () => {
    const open = { baseUrl: 'http://127.0.0.1', key: 'k' };
    const methodsOf = (client: ClientA | ClientB | InsightsClient) => Object.keys(client).sort();
    assert.deepEqual(Object.keys(VariantA.PATHS).sort(), Object.keys(METHODS).sort());
    assert.deepEqual(Object.keys(VariantB.PATHS).sort(), Object.keys(LISTS).sort());
    assert.deepEqual(Object.keys(Insights.PATHS).sort(), Object.keys(FIGURES).sort());
    const [a, b] = [Object.values(METHODS), Object.values(LISTS)];
    assert.deepEqual(methodsOf(openClient({ ...open, variant: 'a' })), [...a, 'sync', 'live'].sort());
    assert.deepEqual(methodsOf(openClient({ ...open, variant: 'b' })), [...b, 'sync', 'live'].sort());
    assert.deepEqual(methodsOf(openClient({ ...open, variant: 'insights' })), Object.values(FIGURES).sort());
  });
});
