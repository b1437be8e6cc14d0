/** Users of a roster who share an e-mail address, such as siblings with that of a parent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { plainDerivation } from '../../../src/ingest/formats/derivation.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { runs } from '../../model/runs.ts';
import { manifest, USERS, user } from './oneroster-files.ts';
import { openSchool, problemsOf } from './school.ts';

const SHARED = 'family@home.example';
const users = (...rows: readonly (readonly [string, string])[]) => ({
  'manifest.csv': manifest('bulk'),
  'users.csv': `${USERS}${rows.map(([id, email]) => user(id, 'active', `Child,${id}`, { email })).join('')}`,
});

describe('users of a roster with one address', () => {
  it('are all imported, the one with the lowest sourcedId with the address', async (t) => {
    const { load, users: published } = await openSchool(t);
    const rows = [
      ['7', 'Family@Home.example'],
      ['007', SHARED],
      ['T1', ''],
    ] as const;
    const addresses = async () =>
      Object.fromEntries(
        (await published()).map(({ id, name, email }) => [
          name.slice('Child '.length),
          email.replace(`${id}`, 'N'),
        ]),
      );
    const expected = { '007': SHARED, '7': 'user-N@oneroster.invalid', T1: 'user-N@oneroster.invalid' };
    const first = await load(users(...rows));
    assert.deepEqual(problemsOf(first), []);
    assert.deepEqual(
      first.translated?.altered?.map(({ reason, count, examples }) => [reason, count, examples.length]),
      [['has the e-mail address of a different user, who keeps it', 1, 1]],
    );
    assert.deepEqual(await addresses(), expected);
    assert.equal((await load(users(...rows.toReversed()))).outcome, 'unchanged');
    // A lower one comes later, alone or with the others.
    for (const later of [[], rows]) {
      assert.deepEqual(problemsOf(await load(users(['000', SHARED], ...later))), []);
      assert.deepEqual(await addresses(), { ...expected, '000': 'user-N@oneroster.invalid' });
    }
    // The owner gets a different one.
    assert.deepEqual(problemsOf(await load(users(['007', 'ona@x.example'], ['7', SHARED]))), []);
    assert.deepEqual(await addresses(), {
      ...{ ...expected, '007': 'ona@x.example', '7': SHARED },
      '000': 'user-N@oneroster.invalid',
    });
  });

  it('are refused if a user of another source has it', async (t) => {
    const { load } = await openSchool(t);
    await load({ 'users.csv': `id,email,name\n5,${SHARED},Parent\n` }, { as: 'users' });
    assert.deepEqual(problemsOf(await load(users(['7', SHARED], ['007', SHARED]))), [
      `users.csv:3: email: "${SHARED}" belongs to two users, 5 and "007"; it must be unique`,
    ]);
  });

  it('never get one of a different user, and keep it as long as their rows have it', () => {
    const person = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const email = fc.constantFrom('', '1@x', '2@x', 'X@x', 'x@X');
    const status = fc.oneof({ arbitrary: fc.constant('active'), weight: 5 }, fc.constant('tobedeleted'));
    const rows = fc.uniqueArray(fc.record({ sourcedId: person, email, status }), {
      selector: ({ sourcedId }) => sourcedId,
    });
    const imports = fc.array(fc.record({ rows, isWhole: fc.boolean() }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(imports, (all) => {
        let published = new Map<string, string>();
        for (const { rows: given, isWhole } of all) {
          const before = published;
          published = importedInto(before, given, isWhole);
          const shown = JSON.stringify([[...before], given, [...published]]);
          const addresses = [...published.values()].map((one) => one.toLowerCase());
          assert.equal(new Set(addresses).size, addresses.length, shown);
          for (const { sourcedId, email: claim, status: said } of given) {
            if (said !== 'active') continue;
            const address = published.get(sourcedId) ?? assert.fail();
            if (claim !== '') assert.ok(addresses.includes(claim.toLowerCase()), shown);
            const had = before.get(sourcedId)?.toLowerCase();
            if (had !== undefined && had === claim.toLowerCase())
              assert.equal(address.toLowerCase(), had, shown);
          }
          assert.deepEqual(importedInto(published, given.toReversed(), isWhole), published, shown);
        }
      }),
      runs(1000),
    );
  });
});

interface UserRow {
  readonly sourcedId: string;
  readonly email: string;
  readonly status: string;
}

/** The address of each user after an import; in the order of their ids. */
function importedInto(before: ReadonlyMap<string, string>, rows: readonly UserRow[], isWhole: boolean) {
  const roster = oneroster.open({ ...(isWhole && { replaced: ['users'] }) }, plainDerivation);
  const idOf = (identifier: string) =>
    plainDerivation.personOf({ text: `oneroster ${identifier}`, word: identifier, kind: 'oneroster' }).id;
  const records = rows.map((row) => ({ ...row, username: '', givenName: 'A', familyName: 'B' }));
  for (const line of manifest('bulk').split('\n').slice(1)) {
    const [propertyName, value] = line.split(',');
    roster.survey?.({ propertyName, value }, 'manifest.csv:2');
  }
  for (const record of records) roster.survey?.(record, 'users.csv:2');
  for (const [identifier, email] of before) roster.learn?.({ id: idOf(identifier), email, identifier });
  roster.endSurvey?.();
  const after = new Map(isWhole ? [] : before);
  for (const record of records) {
    for (const one of roster.translate(record)) {
      if ('deletes' in one) after.delete(record.sourcedId);
      if (!('describes' in one) || one.describes !== 'users') continue;
      const { text, isGiven } = one.person.email;
      const known = before.get(record.sourcedId);
      after.set(record.sourcedId, isGiven || known === undefined ? text : known);
    }
  }
  return new Map([...after].sort(([one], [other]) => (one < other ? -1 : 1)));
}
