/**
 * No response distinguishes records outside the scope of a key from records that do not exist
 * (decision 12). Tests every route that names a board or a user in its path or its query, in every
 * form.
 */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, it } from 'node:test';
import type { Scope } from '../../src/domain/scope.ts';
import { REPRESENTATIONS } from '../../src/render/text/representations.ts';
import type { ParameterName } from '../../src/server/request/parameters.ts';
import type { Route } from '../../src/server/request/route.ts';
import { publishedBases } from '../../src/server/routes/variants.ts';
import { IS_LONG } from '../long.ts';
import type { Board, User } from '../model/model.ts';
import { visibleBoards, visibleUsers } from '../model/scope-model.ts';
import { describeOver, READINGS } from '../storage.ts';
import { openWorld, type ScopeName, WORLD_MODEL, WORLD_SCOPES, type World } from '../world.ts';

/** By the name of a path or query parameter: the kind of record it names, and by which name. */
const PLACEHOLDERS: Readonly<Record<string, Naming>> = {
  'board-id': boards(({ id }) => `${id}`),
  boardId: boards(({ id }) => `${id}`),
  board: boards(({ id }) => `${id}`),
  ltiId: boards(({ ltiId }) => ltiId),
  courseId: boards(({ courseId }) => courseId),
  'user-id': users(({ id }) => `${id}`),
  userId: users(({ id }) => `${id}`),
  user: users(({ id }) => `${id}`),
  prop: { hidden: () => [], visible: () => ['sis_user_id'], all: ['sis_user_id'] },
  val: users(({ lms }) => lms['sis_user_id'] ?? ''),
};

/**
 * A value for each parameter, with the other parameters that it requires. Undefined for parameters
 * that are placeholders or whose values cannot be invented.
 */
const VALUES: Readonly<Record<ParameterName, string | undefined>> = {
  ...{ board: undefined, user: undefined, cursor: undefined, property: undefined },
  // Refused for these keys, whatever the board.
  id: undefined,
  ...{ start: '1514764800000', end: '1546300800000', at: '1546300800000' },
  ...{
    limit: '1',
    since: 'start',
    token: 'record&since=start',
    format: 'csv',
    excel: '1&format=csv',
    key: 'board',
    action: 'visited',
    top: '1',
    days: '7',
    compare: 'previous&start=1514764800000&end=1546300800000',
  },
  ...{ for: 'canvas', value: 'points', column: 'Week%201', class_role: 'student' },
  ...{ interval: 'month', zone: 'Europe/Vienna', by: 'board', order: 'recent' },
};

const HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'if-none-match': '*' },
  { 'accept-encoding': 'gzip' },
  { 'accept-encoding': 'zstd' },
  { range: 'bytes=0-1' },
];

interface Naming {
  /** The names of records that the scope hides, and of records that it shows. */
  hidden(scope: Scope): readonly string[];
  visible(scope: Scope): readonly string[];
  readonly all: readonly string[];
}

function boards(nameOf: (board: Board) => string): Naming {
  return naming(WORLD_MODEL.boards, (scope) => visibleBoards(WORLD_MODEL, scope), nameOf);
}

function users(nameOf: (user: User) => string): Naming {
  return naming(WORLD_MODEL.users, (scope) => visibleUsers(WORLD_MODEL, scope), nameOf);
}

function naming<T>(
  things: readonly T[],
  seenBy: (scope: Scope) => readonly T[],
  nameOf: (thing: T) => string,
): Naming {
  const namesOf = (some: readonly T[]) => some.map(nameOf).filter((name) => name !== '');
  const all = namesOf(things);
  return {
    all,
    visible: (scope) => namesOf(seenBy(scope)),
    hidden: (scope) => namesOf(things.filter((thing) => !seenBy(scope).includes(thing))),
  };
}

/** An unused name of the same length and kind: its last digit or letter is different. */
function missingLike(name: string, taken: readonly string[]): string {
  const place = name.search(/[0-9A-Za-z][^0-9A-Za-z]*$/);
  const others = /[0-9]/.test(name[place]!) ? '4050607010203' : 'QXZ';
  const made = [...others].map((other) => name.slice(0, place) + other + name.slice(place + 1));
  const free = made.find((one) => !taken.includes(one));
  assert.ok(free, `no name like ${name} is free`);
  return free;
}

interface Pair {
  readonly hidden: string;
  readonly missing: string;
}

/** Targets that differ in one name only: a hidden record, and one that does not exist. */
function pairsOf(route: Route, base: string, scope: Scope): Pair[] {
  const inPath = [...route.path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
  const inQuery = route.parameters.filter((name) => name in PLACEHOLDERS);
  const targetOf = (names: Readonly<Record<string, string>>) => {
    const path = route.path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(names[name]!));
    const query = inQuery.flatMap((name) => (names[name] === undefined ? [] : [`${name}=${names[name]}`]));
    return `${base}/v1${path}?${query.join('&')}`;
  };
  return [...inPath, ...inQuery].flatMap((name) => {
    const { hidden, all } = namingOf(name);
    const others = Object.fromEntries(
      inPath.map((other) => {
        const { visible, all: any } = namingOf(other);
        return [other, visible(scope)[0] ?? any[0]!];
      }),
    );
    return hidden(scope).map((one) => ({
      hidden: targetOf({ ...others, [name]: one }),
      missing: targetOf({ ...others, [name]: missingLike(one, all) }),
    }));
  });
}

function namingOf(name: string): Naming {
  const found = PLACEHOLDERS[name];
  assert.ok(found, `say in PLACEHOLDERS what {${name}} names`);
  return found;
}

interface Way {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
}

/** Every method and form of the route, and all parameters and headers that change the response. */
function waysOf({ representations, parameters }: Route): Way[] {
  const plain = { method: 'GET', headers: {}, query: '' };
  return [
    ...representations.flatMap((form) =>
      ['GET', 'HEAD'].map((method) => ({
        ...plain,
        method,
        headers: { accept: REPRESENTATIONS[form].mediaType },
      })),
    ),
    ...HEADERS.map((headers) => ({ ...plain, headers })),
    ...parameters.flatMap((name) =>
      VALUES[name] === undefined ? [] : [{ ...plain, query: `&${name}=${VALUES[name]}` }],
    ),
  ];
}

describeOver(READINGS, 'a board or user out of scope', {}, (kind) => {
  const agent = new Agent({ keepAlive: true });
  let world: World;
  before(async () => {
    world = await openWorld(kind);
  });
  after(async () => {
    agent.destroy();
    await world.close();
  });

  /** The whole response, without the values that differ between any two requests. */
  async function appearance(target: string, key: string, { method, headers, query }: Way): Promise<string> {
    const path = target + query;
    const sent = request(world.url + path, { method, agent, headers: { ...headers, apikey: key } });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    sent.on('error', reject);
    sent.on('response', async (reply) => {
      const chunks: Buffer[] = await reply.toArray();
      const head = reply.rawHeaders.flatMap((name, at, all) =>
        at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : [],
      );
      resolve([reply.statusCode, ...head, Buffer.concat(chunks).toString('latin1')].join('\n'));
    });
    sent.end();
    return (await promise)
      .replace(/^date: .*$/im, '')
      .replace(/^x-request-id: .*$/im, '')
      .replaceAll(/dur=[\d.]+/g, 'dur')
      .replace(/"request_id":"[^"]*"/, '')
      .replaceAll(path.split('?')[0]!, 'PATH');
  }

  for (const name of ['nothing', 'boards', 'users'] satisfies readonly ScopeName[]) {
    for (const { base, table } of publishedBases('a')) {
      it(`looks like a missing one to the key "${name}", in every route under ${base}/v1`, async () => {
        let compared = 0;
        for (const route of table.routes) {
          const pairs = pairsOf(route, base, WORLD_SCOPES[name]);
          // Each pair is compared with a plain request, and at least one pair in every other way:
          // all ways look records up in the same manner. Datasets read directly are compared with
          // plain requests only, except in long runs.
          for (const [place, { hidden, missing }] of pairs.entries()) {
            for (const way of waysOf(route).slice(
              0,
              place === 0 && (kind.resident || IS_LONG) ? undefined : 1,
            )) {
              const seen = await appearance(hidden, world.keys[name], way);
              assert.equal(seen, await appearance(missing, world.keys[name], way), `${way.method} ${hidden}`);
              assert.ok(seen.startsWith('404\n'), seen);
              compared += 1;
            }
          }
          const isNamed = route.of !== 'organization';
          assert.ok(pairs.length > 0 || !isNamed || name !== 'nothing', `${route.path} is not asked`);
        }
        assert.ok(compared > 0);
      });
    }
  }
});
