/**
 * One small organization in which everything in the contract occurs at least once, imported into a
 * real deployment with a key for each scope.
 */
import { FULL_SCOPE, type Scope } from '../src/domain/scope.ts';
import type { ParsedRequest } from './model/answers.ts';
import { type Bundle, EMPTY_BUNDLE, type EventInput } from './model/bundle.ts';
import { type Deployment, openDeployment, storeSettings } from './model/deployment.ts';
import { absorb, emptyModel, type Model, type ModelSettings } from './model/model.ts';
import type { StorageKind } from './storage.ts';

// Identifiers; a JavaScript number cannot represent some of them.
export const [ADA, OLIVE, BOB, MUTE, EVE, PAT] = [1n, 2n, 3n, 5n, 6n, 7n] as const;
export const ZOE = 2n ** 53n + 1n;
export const [RHETORIC, STARS, EMPTY] = [7n, 8n, 9n] as const;
export const FAR = 2n ** 63n - 1n;
export const IRONY = 100n;
export const SIRIUS = -(2n ** 63n);

export const WORLD_SETTINGS: ModelSettings = {
  id: 2n ** 53n + 3n,
  title: 'Harbor College',
  domain: 'harbor.example',
  categoryId: 12n,
  courseLookup: true,
  lmsUserProperties: ['sis_user_id', 'login/id'],
  policy: {
    rules: [
      { on: 'pin.created', to: 'actor', points: 10 },
      { on: 'pin.commented', to: 'actor', points: 5 },
      { on: 'pin.commented', to: 'owner', points: 2, excludeSelf: true },
    ],
    goal: 20,
    boards: { [`${STARS}`]: { participationScore: 'points', goal: 4 } },
  },
};

const EARLY = '1969-12-31T23:59:59.999+00:00';
const MONDAY = '2018-03-12T17:00:45.567+00:00';
const TUESDAY = '2018-03-13T00:00:00.000+00:00';
const [FOLLOWED, UNFOLLOWED] = ['2018-03-14T10:00:00.000+00:00', '2018-03-14T10:00:00.001+00:00'];
const THURSDAY = '2018-03-15T12:30:00.250+00:00';

/**
 * In the order of import, which differs from the order of time. Three events share `MONDAY` and
 * three share `TUESDAY`, of which two are identical.
 */
const EVENTS: readonly EventInput[] = [
  event(21n, 'board.followed', OLIVE, ADA, RHETORIC, undefined, MONDAY),
  event(22n, 'pin.created', ADA, ADA, RHETORIC, IRONY, MONDAY),
  event(20n, 'pin.commented', ADA, ZOE, RHETORIC, IRONY, MONDAY),
  event(23n, 'pin.visited', OLIVE, ADA, STARS, SIRIUS, TUESDAY),
  event(undefined, 'pin.visited', OLIVE, ADA, STARS, SIRIUS, TUESDAY),
  event(undefined, 'pin.visited', OLIVE, ADA, STARS, SIRIUS, TUESDAY),
  event(24n, 'board.unfollowed', OLIVE, BOB, RHETORIC, undefined, UNFOLLOWED),
  event(25n, 'board.followed', OLIVE, BOB, RHETORIC, undefined, FOLLOWED),
  event(26n, 'pin.commented', OLIVE, BOB, STARS, SIRIUS, THURSDAY),
  event(2n ** 53n + 5n, 'badge.awarded', ADA, ZOE, FAR, undefined, EARLY),
];

/**
 * Olive is an owner and never acts, Mute is a member and never acts, Eve does nothing, Pat has
 * imported points.
 */
export const WORLD: Bundle = {
  ...EMPTY_BUNDLE,
  users: [
    {
      ...{ id: ADA, email: 'ada@harbor.example', name: 'Ada Lovelace', role: 'coadmin' },
      ...{ class_role: 'instructor', created_at: '2018-01-10T08:00:00.000+00:00' },
      lms: { sis_user_id: 'S 1/ä', 'login/id': 'ada' },
    },
    { id: OLIVE, email: 'Olive@Harbor.example', first_name: 'Olive', last_name: 'Owner' },
    { ...student(BOB, 'bob', 'Bob "Bobby" O’Neil, Jr.'), created_at: MONDAY, lms: { sis_user_id: '3' } },
    student(ZOE, 'zoe', 'Zoë Ångström 🙂'),
    { ...student(MUTE, 'mute', 'Mute Member'), created_at: '2018-02-01T00:00:00.000+00:00' },
    { ...student(EVE, 'eve', 'Eve'), created_at: '2019-01-01T00:00:00.000+01:00' },
    { ...student(PAT, 'pat', 'Pat Imported'), created_at: '2018-02-02T00:00:00.000+00:00' },
  ],
  boards: [
    {
      ...{ id: RHETORIC, title: 'Rhetoric', category: 'Communications' },
      ...{ lti_id: 'lti-rhetoric', course_id: 'RHET 101/é', created_at: '2018-01-01T00:00:00.000+00:00' },
    },
    { id: STARS, title: 'Stars, "planets" & <more>', category: 'Bookmarks', lti_id: 'lti 8%' },
    { id: EMPTY, title: 'Empty', created_at: '2018-06-01T00:00:00.000+00:00' },
    { id: FAR, title: 'Far', category: 'Bookmarks', course_id: 'FAR' },
  ],
  pins: [
    {
      ...{ id: IRONY, board_id: RHETORIC, owner_id: ADA, title: 'On irony' },
      body: 'Irony says\none thing, and "means" another.',
      web_url: 'https://harbor.example/irony?a=1&b=2',
      image_url: 'https://harbor.example/irony.png',
      tags: ['style', 'a, "b"'],
    },
    { id: SIRIUS, board_id: STARS, owner_id: OLIVE, title: 'Sirius' },
  ],
  events: EVENTS,
  memberships: [{ board_id: RHETORIC, user_id: MUTE }],
  points: [{ user_id: PAT, board_id: STARS, total_points: 123, participation_score: 45 }],
  adjustments: [
    { user_id: ADA, board_id: RHETORIC, points: -3, timestamp: THURSDAY, reason: 'late work' },
    { user_id: BOB, board_id: STARS, points: -9, timestamp: TUESDAY, reason: 'a duplicate' },
  ],
};

export const WORLD_MODEL: Model = absorb(emptyModel(WORLD_SETTINGS), WORLD);

function student(id: bigint, mailbox: string, name: string) {
  return { id, email: `${mailbox}@harbor.example`, name, role: 'user', class_role: 'student' };
}

function event(
  id: bigint | undefined,
  kind: string,
  owner_id: bigint,
  actor_id: bigint,
  board_id: bigint,
  pin_id: bigint | undefined,
  timestamp: string,
): EventInput {
  const [type = '', action = ''] = kind.split('.');
  const ids = { owner_id, actor_id, board_id, ...(pin_id === undefined ? {} : { pin_id }) };
  return { ...(id === undefined ? {} : { id }), type, action, ...ids, timestamp };
}

/**
 * Scopes by name. `boards` is the scope of a key that was created with boards only; one of its
 * boards does not exist.
 */
export const WORLD_SCOPES = {
  full: FULL_SCOPE,
  boards: { boards: [RHETORIC, EMPTY, 404n], users: 'of-boards' },
  users: { boards: 'all', users: [ADA, BOB, EVE] },
  nothing: { boards: [], users: [] },
} as const satisfies Record<string, Scope>;

/** Queries for every route: of data in all scopes, of data in some, and of missing data. */
export const WORLD_QUESTIONS: readonly ParsedRequest[] = [
  { route: 'events' },
  { route: 'events with pins' },
  { route: 'boards' },
  { route: 'users' },
  ...[RHETORIC, STARS, EMPTY, FAR, 404n].flatMap((id): ParsedRequest[] => [
    { route: 'events of a board', id },
    { route: 'points of a board', by: 'id', name: `${id}` },
  ]),
  ...[ADA, OLIVE, BOB, EVE, PAT, ZOE, 404n].flatMap((id): ParsedRequest[] => [
    { route: 'events of a user', id },
    { route: 'points of a user', id, keyedBy: 'user' },
    { route: 'points of a user', id, keyedBy: 'board' },
  ]),
  ...['lti-rhetoric', 'lti 8%', 'LTI-RHETORIC', 'none'].map(
    (name): ParsedRequest => ({ route: 'points of a board', by: 'lti', name }),
  ),
  ...['RHET 101/é', 'FAR', 'none'].map(
    (name): ParsedRequest => ({ route: 'points of a board', by: 'course', name }),
  ),
  ...[
    ['sis_user_id', 'S 1/ä'],
    ['login/id', 'ada'],
    ['sis_user_id', '3'],
    ['sis_user_id', 'none'],
    ['email', 'ada@harbor.example'],
  ].map(
    ([property = '', value = '']): ParsedRequest => ({
      route: 'points of an LMS user',
      property,
      value,
      keyedBy: 'user',
    }),
  ),
];

export type ScopeName = keyof typeof WORLD_SCOPES;

export interface World extends Deployment {
  readonly keys: Readonly<Record<ScopeName | 'expired' | 'revoked', string>>;
}

/** The fixture, imported, with its keys, on a free port. */
export async function openWorld(kind?: StorageKind): Promise<World> {
  const deployment = await openDeployment(kind);
  const { store, keyring, makeKey } = deployment;
  await store.createOrganization('harbor', storeSettings(WORLD_SETTINGS));
  await deployment.load('harbor', WORLD);
  const revoked = await makeKey('harbor');
  for (const entry of await keyring.list('harbor')) await keyring.revoke(entry.id);
  const keys = {
    full: await makeKey('harbor'),
    boards: await makeKey('harbor', { scope: WORLD_SCOPES.boards }),
    users: await makeKey('harbor', { scope: WORLD_SCOPES.users }),
    nothing: await makeKey('harbor', { scope: WORLD_SCOPES.nothing }),
    expired: await makeKey('harbor', { expiresMs: Date.now() - 1 }),
    revoked,
  };
  return { ...deployment, keys };
}
