/** A copy in each kind of target is what the server shows, whatever has changed in between. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { openClient } from '../../src/client/client.ts';
import type { SyncSource } from '../../src/sync/source.ts';
import { temporaryFolder } from '../cli/command.ts';
import { type Added, BOARDS, type Followed, USERS } from '../client/followed.ts';
import { openProduct } from '../client/followed-product.ts';
import { openProtocolServer } from '../client/followed-protocol.ts';
import { all } from '../client/odd-server.ts';
import { runs } from '../model/runs.ts';
import { type CopyPlace, type CopyRow, DATABASES, PLACES } from './copies.ts';
import { sortedTexts } from './exported.ts';
import { NO_CHANGES } from './scripted.ts';
import { assertWhole, sourceOf, update } from './whole.ts';

const folder = temporaryFolder();
const SOME = [1, 2, 3, 2, 1].map((actor) => ({ actor, owner: 1, board: 7 }));

for (const kind of PLACES) {
  describe(`a copy in ${kind.name}`, () => {
    let followed: Followed;
    let place: CopyPlace;
    beforeEach(async () => {
      followed = await openProduct();
      place = await kind.make(folder);
    });
    afterEach(() => followed.close());

    it('is new, follows changes, deletions and erasures, and starts again for a different key', async () => {
      await followed.add(...SOME);
      const first = await update(place, sourceOf(followed));
      assert.deepEqual(first, {
        ...{ startedAnew: true, events: 5, deletedEvents: 0, erasedUsers: 0 },
        ...{ users: 4, boards: 2, points: 3, severalVersions: false },
      });
      await assertWhole(place, followed);
      const nothing = await update(place, sourceOf(followed));
      assert.deepEqual(nothing, {
        ...{ startedAnew: false, events: 0, deletedEvents: 0, erasedUsers: 0 },
        ...{ users: undefined, boards: undefined, points: undefined, severalVersions: false },
      });
      await followed.rename(2, 'O\'Brien \u{1F600}\n"quoted"');
      await followed.delete(3);
      await followed.add({ actor: 4, owner: 2, board: 8 });
      const second = await update(place, sourceOf(followed));
      assert.deepEqual([second.startedAnew, second.events, second.deletedEvents], [false, 3, 1]);
      await assertWhole(place, followed);
      await followed.forget(1);
      assert.equal((await update(place, sourceOf(followed))).erasedUsers, 1);
      await assertWhole(place, followed);
      await followed.invalidateTokens();
      assert.equal((await update(place, sourceOf(followed))).startedAnew, true);
      await assertWhole(place, followed);
    });

    it('is unchanged after a run that fails at any point', async () => {
      await followed.add(...SOME);
      await update(place, sourceOf(followed));
      const held = async () => [await place.rows('events'), await place.rows('users')];
      const before = await held();
      await followed.rename(2, 'Renamed');
      const source = sourceOf(followed);
      const failing: SyncSource[] = [
        {
          ...source,
          async *changes(token) {
            yield* source.changes(token);
            throw new Error('broken');
          },
        },
        { ...source, list: (of, tag) => (of === 'boards' ? broken() : source.list(of, tag)) },
      ];
      for (const one of failing) await assert.rejects(update(place, one), /broken/);
      assert.deepEqual(await held(), before);
      await update(place, source);
      await assertWhole(place, followed);
    });

    it('has a record once that was corrected while the list was read', async () => {
      await followed.add(...SOME);
      const source = sourceOf(followed);
      const repeating: SyncSource = {
        ...source,
        async *changes(token) {
          for await (const batch of source.changes(token)) {
            yield { ...batch, token: undefined };
            yield { ...batch, startsAnew: false };
          }
        },
      };
      await update(place, repeating);
      await assertWhole(place, followed);
    });

    it('is unchanged if the server sends other records', async () => {
      await followed.add(...SOME);
      const source = sourceOf(followed);
      await update(place, source);
      const [event] = await all(openClient({ ...followed, key: followed.key, variant: 'a' }).events());
      const odd = [
        { ...event },
        { ...event, sync_id: 'x', timestamp: 'soon' },
        { ...event, sync_id: 'x', actor: { ...event?.actor, id: 'seven' } },
        { ...event, sync_id: 'x', actor: { ...event?.actor, id: '9223372036854775808' } },
        { ...event, sync_id: 'x', board: 'Seven' },
      ];
      const batches = [
        ...odd.map((one) => ({ startsAnew: true, events: [one] })),
        ...['seven', 7, null, undefined].map((user) => ({ forgotten: [user] })),
        ...[7, null, undefined].map((id) => ({ deleted: [id] })),
      ];
      const sources: SyncSource[] = batches.map((batch) => ({
        ...source,
        async *changes() {
          yield { ...NO_CHANGES, token: 'new', ...batch } as never;
        },
      }));
      const pages = { tag: undefined, pages: listOf([[{ title: 'No id' }]]) };
      sources.push({ ...source, list: async () => pages });
      for (const one of sources) await assert.rejects(update(place, one), { code: 'source-refused' });
      await assertWhole(place, followed);
    });

    it('belongs to one server', async () => {
      await update(place, sourceOf(followed));
      const other = { ...sourceOf(followed), base: 'https://other.example.org/a' };
      await assert.rejects(update(place, other), { code: 'copy-refused', message: /copy of http:/ });
    });
  });
}

it('a new copy in PostgreSQL is made once by runs that begin at the same time', async () => {
  const followed = await openProduct();
  try {
    await followed.add(...SOME);
    const place = await DATABASES[2]!.make(folder);
    const runs = Array.from({ length: 6 }, () => update(place, sourceOf(followed)));
    const startedAnew = (await Promise.all(runs)).filter((counts) => counts.startedAnew);
    assert.equal(startedAnew.length, 1);
    await assertWhole(place, followed);
  } finally {
    await followed.close();
  }
});

it('a copy in DuckDB with columns of others is refused, and stays as it is', async () => {
  const followed = await openProduct();
  try {
    const place = await DATABASES[0]!.make(folder);
    await followed.add(...SOME);
    await update(place, sourceOf(followed));
    await place.run('ALTER TABLE events ADD COLUMN mine VARCHAR');
    await followed.rename(2, 'Renamed');
    await assert.rejects(update(place, sourceOf(followed)), { code: 'copy-refused', message: /"events"/ });
    await place.run('ALTER TABLE events DROP COLUMN mine');
    await update(place, sourceOf(followed));
    await assertWhole(place, followed);
  } finally {
    await followed.close();
  }
});

async function* listOf<T>(parts: readonly T[]): AsyncGenerator<T> {
  yield* parts;
}

function broken(): Promise<never> {
  return Promise.reject(new Error('broken'));
}

type Step =
  | { readonly add: readonly Added[] }
  | { readonly rename: number; readonly name: string }
  | { readonly remove: number }
  | { readonly sync: true };

describe('a copy after random changes', () => {
  const user = fc.constantFrom(...USERS);
  const added = fc.record({ actor: user, owner: user, board: fc.constantFrom(...BOARDS) });
  const name = fc.string({ unit: 'binary', maxLength: 5 }).filter((text) => !text.includes('\0'));
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ add: fc.array(added, { minLength: 1, maxLength: 4 }) }),
    fc.record({ rename: user, name }),
    fc.record({ remove: fc.integer({ min: 1, max: 8 }) }),
    fc.record({ sync: fc.constant(true as const) }),
  );

  for (const kind of PLACES) {
    it(`has the events of the server, in ${kind.name}`, async () => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const server = await openProtocolServer();
        const place = await kind.make(folder);
        try {
          for (const one of steps) await take(one, server, place);
          await update(place, eventsOf(server));
          assert.deepEqual(described(await place.rows('events')), described(await shownEvents(server)));
        } finally {
          await server.close();
        }
      });
      await fc.assert(property, runs(3));
    });
  }
});

async function take(step: Step, server: Followed, place: CopyPlace): Promise<void> {
  if ('add' in step) await server.add(...step.add);
  else if ('rename' in step) await server.rename(step.rename, step.name);
  else if ('remove' in step) await server.delete(step.remove);
  else await update(place, eventsOf(server));
}

/** The protocol server has no lists of users and boards. */
function eventsOf(server: Followed): SyncSource {
  return { ...sourceOf(server), list: async () => undefined };
}

async function shownEvents({ baseUrl, key }: Followed): Promise<CopyRow[]> {
  const events = await all(openClient({ baseUrl, key, variant: 'a' }).events());
  return events.map(({ actor, owner, timestamp }) => ({
    ...{ actor_id: actor.id, actor_name: actor.name, owner_id: owner.id, owner_name: owner.name },
    timestamp: Date.parse(timestamp),
  }));
}

function described(events: readonly CopyRow[]): string[] {
  const columns = ['actor_id', 'actor_name', 'owner_id', 'owner_name', 'timestamp'];
  return sortedTexts(
    events.map((event) => Object.fromEntries(columns.map((column) => [column, event[column]]))),
  );
}
