/** `docs/contract.md` agrees with the route tables and with a server. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PROBLEM_CODES } from '../../../src/domain/app-error.ts';
import { LIST_FIELDS } from '../../../src/render/text/fields.ts';
import { REPRESENTATIONS } from '../../../src/render/text/representations.ts';
import { PARAMETERS, type ParameterName } from '../../../src/server/request/parameters.ts';
import type { Route, VariantTable } from '../../../src/server/request/route.ts';
import { EVENT_LIST } from '../../../src/server/routes/event-routes.ts';
import { VARIANT_A } from '../../../src/server/routes/variant-a.ts';
import { VARIANT_B } from '../../../src/server/routes/variant-b.ts';
import { allCommands } from '../../cli/command-line-document.ts';
import { brokenLinks } from '../../document-links.ts';
import { openStand, type Stand } from '../stand.ts';
import { pointsMembers } from './data-dictionary.ts';

const TEXT = readFileSync(join(import.meta.dirname, '../../../docs/contract.md'), 'utf8');

/** The rows of the table below a heading, without its head. */
function rowsBelow(heading: string): readonly string[] {
  const [, section = ''] = TEXT.split(`\n${heading}\n`);
  const [own = ''] = section.split(/\n#+ /);
  return own.split('\n').filter((line) => line.startsWith('| `'));
}

const code = (text: string) => `\`${text}\``;
const list = (names: readonly string[]) => names.map(code).join(', ');

function routeRows({ variant, routes, unversioned }: VariantTable): readonly string[] {
  return routes.map(({ path, tag, summary, representations }) => {
    const also = unversioned.includes(path) ? `, also ${code(`/${variant}${path}`)}` : '';
    return `| ${code(`/${variant}/v1${path}`)}${also} | ${tag.toLowerCase()} | ${summary} | ${list(representations)} |`;
  });
}

const ROUTES: readonly Route[] = [...VARIANT_A.routes, ...VARIANT_B.routes];

/** The columns of the table of parameters; the routes of each have the same parameters. */
const GROUPS = [
  ROUTES.filter(({ tag }) => tag === 'Events'),
  ROUTES.filter(({ tag }) => tag === 'Boards' || tag === 'Users'),
  ROUTES.filter(({ tag, of }) => tag === 'Points' && of === 'board'),
  ROUTES.filter(({ tag, of }) => tag === 'Points' && of === 'user'),
];

describe('docs/contract.md', () => {
  for (const [heading, table] of [
    ['## Variant A', VARIANT_A],
    ['## Variant B', VARIANT_B],
  ] as const) {
    it(`lists the routes of the code below "${heading}"`, () => {
      assert.deepEqual(rowsBelow(heading), routeRows(table));
    });
  }

  it('lists the representations of the routes, with media types', () => {
    const names = [...new Set(ROUTES.flatMap(({ representations }) => representations))];
    assert.deepEqual(
      rowsBelow('## Representations'),
      names.map((name) => {
        const { mediaType, isListed } = REPRESENTATIONS[name];
        return `| ${code(name)} | ${code(mediaType)} | ${isListed ? code(`format=${name}`) : ''} |`;
      }),
    );
  });

  it('lists the parameters of the routes, with their descriptions', () => {
    const sets = GROUPS.map((routes) => {
      const [first, ...others] = routes.map(({ parameters }) => parameters);
      for (const other of others) assert.deepEqual(other, first);
      return new Set(first);
    });
    assert.equal(GROUPS.flat().length, ROUTES.length);
    const names = Object.keys(PARAMETERS) as ParameterName[];
    assert.deepEqual(
      rowsBelow('## Parameters'),
      names
        .filter((name) => sets.some((set) => set.has(name)))
        .map((name) => {
          const cells = sets.map((set) => (set.has(name) ? 'yes' : ''));
          return `| ${[code(name), ...cells, PARAMETERS[name].description].join(' | ')} |`;
        }),
    );
  });

  it('lists the members of boards, users and points records', () => {
    assert.deepEqual(
      rowsBelow('### Boards and users'),
      (['boards', 'users'] as const).map(
        (of) => `| ${code(of)} | ${list(LIST_FIELDS[of].a)} | ${list(LIST_FIELDS[of].b)} |`,
      ),
    );
    const [, points = ''] = TEXT.split('\n### Points\n');
    const named = [...points.split('[')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    assert.deepEqual(
      named,
      pointsMembers().map(({ name }) => name),
    );
  });

  it('shows the event of the OpenAPI documents', () => {
    const [, example = ''] = /```json\n(.*?)```/s.exec(TEXT) ?? [];
    assert.deepEqual(JSON.parse(example), EVENT_LIST.example);
  });

  it('names the versions of the variants, and existing problem codes, options and links', () => {
    assert.ok(TEXT.includes(`**Variant A** (${VARIANT_A.version})`));
    assert.ok(
      TEXT.replace(/\s+/g, ' ').includes(`**Variant B** (API version 1, build ${VARIANT_B.version})`),
    );
    const codes = [...TEXT.matchAll(/the code `([\w-]+)`/g)].map(([, name]) => name);
    assert.equal(codes.length, 2);
    assert.deepEqual(
      codes.filter((name) => !PROBLEM_CODES.some((known) => known === name)),
      [],
    );
    const options = new Set(allCommands().flatMap(([, { options }]) => options.map(({ long }) => long)));
    const named = TEXT.match(/--[a-z][a-z-]+/g) ?? [];
    assert.equal(named.length, 3);
    assert.deepEqual(
      named.filter((option) => !options.has(option)),
      [],
    );
    assert.deepEqual(brokenLinks('docs/contract.md'), []);
    assert.deepEqual(brokenLinks('docs/data-dictionary.md'), []);
  });
});

describe('the claims of docs/contract.md about the variants', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
  });
  after(() => stand.close());

  const body = async (path: string) => await (await stand.get(path)).text();

  it('hold: events are the same in both, with one key', async () => {
    for (const [a, b] of [
      ['/events', '/events'],
      ['/events/board/7', '/board/7'],
      ['/events/pins', '/pins'],
      ['/events/user/1', '/user/1'],
    ]) {
      const events = await body(`/a/v1${a}`);
      assert.match(events, /^\[\{"type"/);
      assert.equal(await body(`/b/v1${b}`), events);
    }
  });

  it('hold: routes of the other variant are not found, and only /b/users works without /v1', async () => {
    for (const path of [
      '/a/v1/board/7',
      '/a/v1/pins',
      '/b/v1/events/pins',
      '/b/v1/board/7/points',
      '/a/users',
    ]) {
      assert.equal((await stand.get(path)).status, 404, path);
    }
    assert.equal(await body('/b/users'), await body('/b/v1/users'));
    assert.equal(await body('/v1/users'), await body('/a/v1/users'));
  });

  it('hold: the OpenAPI documents and the reference need no key', async () => {
    for (const path of ['/a/openapi.json', '/b/openapi.json', '/docs', '/docs/api']) {
      assert.equal((await fetch(stand.url + path)).status, 200, path);
    }
  });
});
