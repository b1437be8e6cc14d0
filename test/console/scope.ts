/**
 * The console shows only the data that the key can see: no hidden name is in any response or on any
 * page.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeyWishes } from '../model/deployment.ts';
import { AT_ONCE } from './browser.ts';
import { stand } from './shared-stand.ts';
import { BOARD, ORGANIZATION, PERSON } from './visit.ts';

interface Named {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly title: string;
}

const PATHS = [
  ...['/', '/?by=board', '/console/boards', '/console/people', '/console/events'],
  ...['', '/standings', '/pins', '/people', '/interactions'].map((part) => `/console/boards/${BOARD}${part}`),
  ...['', '/points', '/ledger'].map((part) => `/console/people/${PERSON}${part}`),
  ...[
    '/console/boards/1',
    `/console/events?board=1`,
    '/console/people/1000007',
    '/console/events?person=1000007',
  ],
];

async function load(path: string, key: string): Promise<readonly Named[]> {
  const response = await fetch(stand().url + path, { headers: { apikey: key } });
  assert.equal(response.status, 200);
  return JSON.parse(await response.text());
}

/** The addresses of users and the titles of boards that are hidden from this key. */
async function forbidden(key: string): Promise<string[]> {
  const names: string[] = [];
  for (const path of ['/b/v1/users', '/b/v1/boards']) {
    const seen = new Set((await load(path, key)).map(({ id }) => id));
    const hidden = (await load(path, stand().key)).filter(({ id }) => !seen.has(id));
    names.push(...hidden.map(({ email, title }) => email ?? title));
  }
  return names;
}

/** Visits every page, and fails if a response or a page contains one of the names. */
async function walk(key: string, names: readonly string[]): Promise<void> {
  const visit = await stand().visit({ key, readsData: true });
  visit.forgive(/404 \(Not Found\)/);
  const pages: string[] = [];
  for (const path of PATHS) {
    await visit.follow(path);
    assert.equal(await visit.page.getByRole('heading', { level: 1 }).count(), 1, path);
    pages.push(await visit.page.content());
  }
  await visit.end();
  // The same responses occur many times.
  const data = new Set(visit.texts.filter((text) => /^[[{]/.test(text)));
  assert.ok(data.size > PATHS.length, 'answers have been read');
  const all = [...data, ...pages].join('\n');
  const addresses = new Set(all.match(/[\w.+-]+@[\w.-]+\w/g));
  const isTold = (name: string) => (name.includes('@') ? addresses.has(name) : all.includes(name));
  assert.deepEqual(names.filter(isTold), []);
}

export function describeScope(): void {
  describe('the console with a key', { concurrency: AT_ONCE }, () => {
    const makeKey = (wishes: KeyWishes) => stand().deployment.makeKey(ORGANIZATION, wishes);

    it('for one board shows that board and its users', async () => {
      const key = await makeKey({ scope: { boards: [BigInt(BOARD)], users: 'of-boards' } });
      const names = await forbidden(key);
      assert.ok(names.includes('quantumcomputing: simulation') && names.length > 1000);
      await walk(key, names);
      const visit = await stand().visit({ key, path: '/console/boards' });
      visit.forgive(/404 \(Not Found\)/);
      assert.equal(await visit.page.locator('tbody tr').count(), 1);
      await visit.go('/console/boards/1');
      await visit.page.getByText('It does not exist, or your API key has no access to it.').waitFor();
      await visit.end();
    });

    it('for some users shows only these', async () => {
      const people = (await load('/b/v1/users', stand().key)).slice(-40).map(({ id }) => BigInt(id));
      const key = await makeKey({ scope: { boards: 'all', users: [...people, BigInt(PERSON)] } });
      const names = await forbidden(key);
      assert.ok(names.length > 1000);
      await walk(key, names);
    });

    it('that redacts shows pseudonyms', async () => {
      const key = await makeKey({ redact: { email: true, name: true, id: false } });
      const people = await load('/b/v1/users', stand().key);
      // Short names also occur within other words.
      const names = people
        .filter(({ name }) => name.length > 8 && name.includes(' '))
        .map(({ name }) => name);
      assert.ok(names.length > 100);
      const texts = await load('/a/v1/events/pins', key);
      const told = JSON.stringify(texts);
      // Texts by users may contain names; they are not data of the console.
      await walk(key, [
        ...people.map(({ email }) => email),
        ...names.slice(0, 150).filter((name) => !told.includes(name)),
      ]);
    });
  });
}
