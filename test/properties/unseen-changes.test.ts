/**
 * A change of fields that a key cannot see is no change for this key: a sync returns exactly the
 * events whose bytes are different (decisions 19, 63).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { isRedacting } from '../../src/domain/redaction.ts';
import { allRedactions } from '../model/arbitrary.ts';
import { type Bundle, EMPTY_BUNDLE, type UserInput } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { runs } from '../model/runs.ts';

const IDS = [1n, 22n, 7_654_321n];
const REDACTIONS = allRedactions().filter(isRedacting);

/** Given and derived names and addresses of a user, any of which may occur in an import. */
function wordsOf(id: bigint): fc.Arbitrary<Omit<UserInput, 'id'>> {
  const names = fc.constantFrom(
    ...[{ name: 'Ada Lovelace' }, { name: 'Grace Hopper' }, { name: 'Noether' }, { name: `Pupil ${id}` }],
    ...[{ name: `m${id}` }, { name: `m${id}@uni.example` }, { name: 'urn:uuid:1' }, { name: `User ${id}` }],
    ...[{ first_name: 'Lise' }, { last_name: `m${id}@uni.example` }],
  );
  return fc
    .record({
      email: fc.constantFrom(`m${id}@uni.example`, `other.${id}@uni.example`, `${id}@moodle.invalid`),
      names,
      others: fc.record(
        {
          role: fc.constantFrom('user', 'coadmin'),
          class_role: fc.constantFrom('', 'instructor'),
          created_at: fc.constantFrom('2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z'),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ email, names: name, others }) => ({ email, ...name, ...others }));
}

const usersArbitrary = fc
  .subarray(IDS, { minLength: 1 })
  .chain((ids) => fc.tuple(...ids.map((id) => wordsOf(id).map((words): UserInput => ({ id, ...words })))));

const BEGINNING: Bundle = {
  ...EMPTY_BUNDLE,
  users: IDS.map((id) => ({ id, email: `first.${id}@uni.example`, name: 'Ada Lovelace' })),
  boards: [{ id: 7n, title: 'Board' }],
  events: IDS.map((actor_id, at) => ({
    ...{ type: 'board', action: 'followed', actor_id, owner_id: IDS[(at + 1) % IDS.length]!, board_id: 7n },
    timestamp: '2024-01-03T00:00:00Z',
  })),
};

/** Lines by the sync ids of their events. */
function byName(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').slice(0, -1);
  return new Map(lines.map((line) => [/"sync_id":"([\w-]{22})"/.exec(line)?.[1] ?? '', line]));
}

let organizations = 0;

describe('a sync of a redacting key', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  async function read(key: string, since: string) {
    const accept = { accept: 'application/x-ndjson' };
    const reply = await get(`${deployment.url}/a/v1/events?since=${since}`, key, accept);
    assert.equal(reply.status, 200, reply.text);
    return { lines: byName(reply.text), token: reply.headers.get('sync-token') ?? '' };
  }

  it('returns the events that look different to the key, and no others', async () => {
    const property = fc.asyncProperty(
      fc.array(usersArbitrary, { minLength: 2, maxLength: 4 }),
      async (changes) => {
        const organization = `unseen-${organizations++}`;
        await deployment.load(organization, BEGINNING);
        const keys = await Promise.all(
          REDACTIONS.map(async (redact) => ({
            redact: JSON.stringify(redact),
            key: await deployment.makeKey(organization, { redact }),
          })),
        );
        const known = new Map<string, Awaited<ReturnType<typeof read>>>();
        for (const { key } of keys) known.set(key, await read(key, 'start'));
        for (const users of changes) {
          const { published } = await deployment.load(organization, { ...EMPTY_BUNDLE, users });
          const [first] = keys;
          const isServed = async () =>
            (await read(first!.key, 'start')).token !== known.get(first!.key)?.token;
          while (published && !(await isServed())) await delay(20);
          for (const { key, redact } of keys) {
            const earlier = known.get(key)!;
            const [told, fresh] = [await read(key, earlier.token), await read(key, 'start')];
            const different = [...fresh.lines].filter(([name, line]) => earlier.lines.get(name) !== line);
            assert.deepEqual(
              [...told.lines].toSorted(),
              different.toSorted(),
              `${redact} after ${users.map(({ id, email, name }) => `${id} ${email} ${name}`).join('; ')}`,
            );
            known.set(key, fresh);
          }
        }
      },
    );
    await fc.assert(property, runs(2));
  });
});
