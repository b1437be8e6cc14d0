import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { redactUsers } from '../../../src/render/redaction/redaction.ts';
import { openRendering } from '../../../src/render/rendering.ts';
import type { Redacting } from '../../../src/render/text/rendered-body.ts';
import type { Representation } from '../../../src/render/text/representations.ts';
import { type Person, peopleOf, usersOf } from '../../dataset/record-columns.ts';
import { PlainDataset } from '../plain-dataset.ts';
import { textOf } from '../reference.ts';
import { worldOf } from '../worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const secret = Buffer.from('a secret of the organization');
const BOTH: Redacting = { email: true, name: true, id: false, secret };
const ada = worldOf(0).people[0]!;

async function redactPerson(person: Person, redacting: Redacting): Promise<Person> {
  return peopleOf(await redactUsers(usersOf([person]), redacting))[0]!;
}

/** Every response that the rendering of a small world can make, as one text. */
async function everyAnswer(redaction: Redacting): Promise<string> {
  const rendering = openRendering(new PlainDataset(worldOf(9)), redaction);
  const texts: string[] = [];
  for (const representation of ['json', 'ndjson', 'csv'] satisfies Representation[]) {
    texts.push(await textOf(await rendering.events(EVERYTHING, representation)));
    for (const variant of ['a', 'b'] as const) {
      texts.push(await textOf(await rendering.list('users', EVERYTHING, variant, representation)));
    }
  }
  for (const keyedBy of ['email', 'user', 'board'] as const) {
    texts.push(await textOf(await rendering.standings({ ...EVERYTHING, of: { board: 0 } }, keyedBy)));
  }
  return texts.join('\n');
}

test('no response shows an e-mail address or a name that must be redacted', async () => {
  assert.match(await everyAnswer({ ...BOTH, email: false, name: false }), /user1@guild\.example/);
  const redacted = await everyAnswer(BOTH);
  assert.doesNotMatch(redacted, /@guild|Ada/);
  assert.ok(redacted.includes((await redactPerson(ada, BOTH)).email));
  assert.ok(redacted.includes((await redactPerson(ada, BOTH)).name));
});

test('only the requested fields are redacted', async () => {
  const emails = await everyAnswer({ ...BOTH, name: false });
  assert.doesNotMatch(emails, /@guild/);
  assert.match(emails, /"Ada 1"/);
  const names = await everyAnswer({ ...BOTH, email: false });
  assert.match(names, /user1@guild\.example/);
  assert.doesNotMatch(names, /Ada/);
});

test('a derived name is redacted with the address, both parts of it', async () => {
  const derived = { ...ada, nameIsDerived: true };
  assert.deepEqual(await redactPerson(derived, { ...BOTH, name: false }), {
    ...(await redactPerson(ada, BOTH)),
    nameIsDerived: true,
  });
  const { name } = await redactPerson(derived, { ...BOTH, email: false, name: false });
  assert.equal(name, ada.name);
});

test('the key of a points map is the pseudonym in its record', async () => {
  const rendering = openRendering(new PlainDataset(worldOf(0)), BOTH);
  const text = await textOf(await rendering.standings({ ...EVERYTHING, of: { board: 0 } }, 'email'));
  const map: Record<string, { email: string }> = JSON.parse(text);
  assert.equal(Object.keys(map).length, 2);
  for (const [key, value] of Object.entries(map)) assert.equal(key, value.email);
});

test('a pseudonym depends only on the id and the secret', async () => {
  const renamed = { ...ada, name: 'Grace', lastName: 'Grace', email: 'grace@guild.example' };
  const redacted = await redactPerson(ada, BOTH);
  assert.deepEqual(await redactPerson(renamed, BOTH), redacted);
  const elsewhere = await redactPerson(ada, { ...BOTH, secret: Buffer.from('another secret') });
  assert.notEqual(elsewhere.email, redacted.email);
  assert.notEqual(elsewhere.name, redacted.name);
});

test('a pseudonym is the start of the HMAC in Base32', async () => {
  const bits = [...createHmac('sha256', secret).update('email:1').digest()]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  const expected = Array.from({ length: 16 }, (_, at) =>
    'abcdefghijklmnopqrstuvwxyz234567'.charAt(Number.parseInt(bits.slice(at * 5, at * 5 + 5), 2)),
  ).join('');
  const { email, name, firstName, lastName } = await redactPerson(ada, BOTH);
  assert.equal(email, `${expected}@redacted.invalid`);
  assert.match(lastName, /^[A-Z2-7]{8}$/);
  assert.deepEqual([firstName, name], ['Person', `Person ${lastName}`]);
});

test('the pseudonyms of ten thousand users are distinct', async () => {
  const all = usersOf(Array.from({ length: 10_000 }, (_, id) => ({ ...ada, id: BigInt(id) })));
  const people = peopleOf(await redactUsers(all, BOTH));
  assert.equal(new Set(people.map((person) => person.email)).size, 10_000);
  assert.equal(new Set(people.map((person) => person.name)).size, 10_000);
});
