import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { PlainDataset } from './plain-dataset.ts';
import { jsonOf, textOf } from './reference.ts';
import { anyWorld, NO_REDACTION, worldOf } from './worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };

/** A record of user 1, whose id is 2^53 + 1, on a board of the world. */
function record(board: string, total: number, score: number): string {
  return (
    `{"user_id":9007199254740993,"board_id":${board},"email":"user9007199254740993@guild.example",` +
    `"total_points":${total},"participation_score":${score}}`
  );
}

test('the map of a user has the first board under the user id and further boards under both ids (decision 8)', async () => {
  const rendering = openRendering(new PlainDataset(worldOf(0)), NO_REDACTION);
  assert.equal(
    await textOf(await rendering.standings({ ...EVERYTHING, of: { user: 1 } }, 'user')),
    `{"9007199254740993":${record('1', 140, 100)},` +
      `"9007199254740993:9223372036854775807":${record('9223372036854775807', 65, 65)}}`,
  );
});

test('the map of a user can be keyed by board (decision 8)', async () => {
  const rendering = openRendering(new PlainDataset(worldOf(0)), NO_REDACTION);
  assert.equal(
    await textOf(await rendering.standings({ ...EVERYTHING, of: { user: 1 } }, 'board')),
    `{"1":${record('1', 140, 100)},"9223372036854775807":${record('9223372036854775807', 65, 65)}}`,
  );
});

test('a map without records is an empty object', async () => {
  const rendering = openRendering(new PlainDataset(worldOf(0)), NO_REDACTION);
  assert.equal(await textOf(await rendering.standings({ ...EVERYTHING, of: { user: 2 } }, 'user')), '{}');
  assert.equal(await textOf(await rendering.standings({ ...EVERYTHING, of: { board: 1 } }, 'email')), '{}');
});

test('the map of a board is keyed by e-mail address and ordered by user id, also with difficult texts (decision 9)', async () => {
  await fc.assert(
    fc.asyncProperty(anyWorld, async (world) => {
      const rendering = openRendering(new PlainDataset(world), NO_REDACTION);
      const board = world.boards[1]!;
      const members = world.standings
        .filter((row) => row.board === 1)
        .map((row) => ({ ...row, person: world.people[row.user]! }))
        .sort((a, b) => (a.person.id < b.person.id ? -1 : 1))
        .map(({ person, totalPoints, participationScore }) => {
          const value = {
            user_id: person.id,
            board_id: board.id,
            email: person.email,
            total_points: totalPoints,
            participation_score: participationScore,
          };
          return `${jsonOf(person.email)}:${jsonOf(value)}`;
        });
      assert.equal(
        await textOf(await rendering.standings({ ...EVERYTHING, of: { board: 1 } }, 'email')),
        `{${members.join(',')}}`,
      );
    }),
    { numRuns: 30 },
  );
});
