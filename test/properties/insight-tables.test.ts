/** The insights as CSV, compared with their JSON (decision 93). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { organizationArbitrary, redactionArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { assertSuccess, get } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { parseExact } from '../model/insights-model.ts';
import { runs } from '../model/runs.ts';

type Cells = readonly (readonly unknown[])[];

interface User {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly name: string;
}

interface Board {
  readonly id: string;
  readonly title: string;
  readonly category: string;
}

const user = ({ id, email, role, name }: User) => [id, email, role, name];
const board = (one: Board | null) => [one?.id, one?.title, one?.category];

/** By path: the rows that the table of an insight must have, from its JSON. */
const ROWS = {
  activity: (json: {
    readonly periods: readonly string[];
    readonly people: readonly number[];
    readonly series: readonly { label: string | null; board: Board | null; events: number[] }[];
  }): Cells =>
    json.periods.flatMap((period, at) =>
      json.series.map((one) => [period, json.people[at], one.label, ...board(one.board), one.events[at]]),
    ),
  returning: (json: {
    readonly periods: string[];
    readonly newcomers: number[];
    readonly returning: number[];
  }) => json.periods.map((period, at) => [period, json.newcomers[at], json.returning[at]]),
  'heat-map': (json: { readonly hours: readonly (readonly number[])[] }): Cells =>
    json.hours.flatMap((day, at) => day.map((events, hour) => [at + 1, hour, events])),
  boards: (json: readonly { board: Board; events: number; people: number; last: string }[]): Cells =>
    json.map((one) => [...board(one.board), one.events, one.people, one.last]),
  users: (json: readonly { user: User; events: number; boards: number; last: string }[]): Cells =>
    json.map((one) => [...user(one.user), one.events, one.boards, one.last]),
  attention: (json: {
    readonly attention: readonly ({ readonly user: User } & Readonly<Record<string, unknown>>)[];
  }): Cells =>
    json.attention.map((one) => [
      ...[...user(one.user), one['last'], one['inactive_days'], one['inactive'], one['behind']],
      ...[one['total_points'], one['participation_score']],
    ]),
  pins: (json: {
    readonly ranked: readonly {
      readonly pin: { id: string; title: string; web_url: string; tags: readonly string[] };
      readonly owner: User;
      readonly events: number;
      readonly people: number;
      readonly first: string;
      readonly last: string;
    }[];
  }): Cells =>
    json.ranked.map(({ pin, owner, events, people, first, last }) => [
      ...[pin.id, pin.title, pin.web_url, JSON.stringify(pin.tags)],
      ...[...user(owner), events, people, first, last],
    ]),
  interactions: (json: {
    readonly people: readonly User[];
    readonly edges: readonly { actor: string; owner: string; events: number }[];
  }): Cells => {
    const named = (id: string) => user(json.people.find((one) => one.id === id)!);
    return json.edges.map(({ actor, owner, events }) => [...named(actor), ...named(owner), events]);
  },
  ledger: (json: { readonly lines: readonly Readonly<Record<string, unknown>>[] }): Cells =>
    json.lines.map((line) => [
      ...[line['timestamp'], line['what'], line['rule'], line['points'], line['counted']],
      ...[line['reason'], line['week'], line['running_total']],
    ]),
} as const;

describe('insights as CSV', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  async function checkTable(key: string, name: keyof typeof ROWS, path: string): Promise<void> {
    const url = `${deployment.url}/insights/v1/${path}`;
    const json = await get(url, key);
    assertSuccess(json);
    const csv = await get(url, key, { accept: 'text/csv' });
    assertSuccess(csv, 'text/csv');
    const rowsOf = ROWS[name] as (json: unknown) => Cells;
    const expected = rowsOf(parseExact(json.text)).map((row) => row.map((cell) => String(cell ?? '')));
    assert.deepEqual(parse(csv.text, { from: 2 }), expected, path);
    assert.notEqual(csv.headers.get('etag'), json.headers.get('etag'));
  }

  it('have the rows of their JSON, for every scope and redaction', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      fc.oneof(fc.constant(FULL_SCOPE), scopeArbitrary),
      redactionArbitrary,
      fc.constantFrom('action', 'type', 'board', 'role', 'class_role'),
      async (plan, scope, redact, by) => {
        const { organization } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization, { scope, redact });
        await checkTable(key, 'activity', 'activity');
        await checkTable(key, 'activity', `activity?interval=week&by=${by}&top=2`);
        await checkTable(key, 'returning', 'returning');
        await checkTable(key, 'heat-map', 'heat-map?zone=Europe/Vienna');
        await checkTable(key, 'boards', 'boards');
        await checkTable(key, 'users', 'users?order=recent');
        const list = async (of: string) =>
          parseExact((await get(`${deployment.url}/b/v1/${of}`, key)).text) as readonly { id: string }[];
        const users = await list('users');
        for (const { id } of await list('boards')) {
          await checkTable(key, 'attention', `boards/${id}/attention?days=1`);
          await checkTable(key, 'pins', `boards/${id}/pins`);
          await checkTable(key, 'interactions', `boards/${id}/interactions`);
          for (const one of users) await checkTable(key, 'ledger', `boards/${id}/users/${one.id}/ledger`);
        }
      },
    );
    await fc.assert(property, runs(6));
  });

  it('is refused where an insight is no table, and NDJSON and Parquet where it is one', async () => {
    const { organization } = await installPlan(
      deployment,
      fc.sample(organizationArbitrary, { numRuns: 1, seed: 1 })[0]!,
    );
    const key = await deployment.makeKey(organization);
    for (const [path, accept, remedy] of [
      ['overview', 'text/csv', 'Accept application/json.'],
      ['users', 'application/x-ndjson', 'Accept application/json or text/csv.'],
      ['users?format=parquet', '*/*', 'Use json or csv.'],
    ] as const) {
      const reply = await get(`${deployment.url}/insights/v1/${path}`, key, { accept });
      assert.equal(reply.status, 406);
      assert.ok(reply.text.includes(remedy), reply.text);
    }
  });
});
