/**
 * Random small organizations. Ids, instants and kinds come from small pools, so that collisions,
 * ties, duplicates, unfollows and late events are frequent.
 */
import fc from 'fast-check';
import type { TimeRange } from '../../src/dataset/query.ts';
import { NO_REDACTION, REDACTABLE, type Redaction } from '../../src/domain/redaction.ts';
import type { Scope } from '../../src/domain/scope.ts';
import type { Bundle, EventInput, Format, UserInput } from './bundle.ts';
import type { ModelSettings } from './model.ts';
import { policyArbitrary } from './policy-arbitrary.ts';

export interface OrganizationPlan {
  readonly settings: Omit<ModelSettings, 'id'>;
  /** Imported in this order. */
  readonly bundles: readonly Bundle[];
  readonly format: Format;
}

/** Ids that may occur; `UNKNOWN_ID` never does. */
export const USER_IDS = [1n, 2n, 3n, 2n ** 53n + 1n, -5n, 40n];
export const BOARD_IDS = [7n, 8n, -2n, 2n ** 62n + 3n];
export const UNKNOWN_ID = 999n;
export const PIN_IDS = [100n, 101n, 102n, 2n ** 63n - 1n];
export const EVENT_IDS = [1n, 2n, 3n, 4n, 5n, 6n, 2n ** 53n + 1n];
export const LMS_PROPERTIES = ['sis_user_id', 'login/id'];

const FIRST_MS = Date.UTC(2024, 2, 28, 22);
const SIX_HOURS_MS = 6 * 3_600_000;

/**
 * Instants around clock changes and starts of weeks; few enough that events share them and ranges
 * end on them.
 */
export const instantArbitrary = fc
  .tuple(fc.constantFrom(0, 9, 12, 13, 26, 36, 38, 40, 52, 60), fc.constantFrom(0, 0, 0, 0, -1, 1))
  .map(([quarterDays, offMs]) => FIRST_MS + quarterDays * SIX_HOURS_MS + offMs);

const timestampArbitrary = fc
  .tuple(instantArbitrary, fc.constantFrom(0, 0, 345, -210))
  .map(([instantMs, offsetMinutes]) => formatWithOffset(instantMs, offsetMinutes));

function formatWithOffset(instantMs: number, offsetMinutes: number): string {
  const magnitude = Math.abs(offsetMinutes);
  const digits = (value: number) => String(value).padStart(2, '0');
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${digits(Math.floor(magnitude / 60))}:${digits(magnitude % 60)}`;
  return new Date(instantMs + offsetMinutes * 60_000).toISOString().replace('Z', offset);
}

const textArbitrary = fc.constantFrom('', 'Plain', 'with, comma', 'a "quoted" one', 'Zoë 🙂', '=1+1', 'a;b');
const titleArbitrary = textArbitrary.map((text) => `Title ${text}`.trim());
const bodyArbitrary = fc.constantFrom(
  '',
  'one',
  'one two',
  'one  two\nthree',
  'Grüße, "Welt" 🙂 \\ / \t end',
);

/** Some users are forgotten (decision 54). */
const forgottenArbitrary = fc.oneof(
  { weight: 14, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ forgotten: true } as const) },
);

function userArbitrary(id: bigint): fc.Arbitrary<UserInput> {
  const names = fc.constantFrom(
    { name: 'Ada Lovelace' },
    { name: 'Riker' },
    { name: 'Juan de la Cruz' },
    { first_name: 'Mary Ann', last_name: 'Zoë "Q"' },
    { first_name: 'Ada', last_name: 'King' },
    ...[{ first_name: 'Eve' }, { last_name: 'van Dyke' }, { name: 'Dr. Dee', first_name: 'Dee' }],
  );
  const others = fc.record(
    {
      role: fc.constantFrom('user', 'coadmin'),
      class_role: fc.constantFrom('', 'instructor'),
      created_at: timestampArbitrary,
      lms: fc.record(
        {
          sis_user_id: fc.constantFrom(`S${id}`, `S${id}/ä %`, ''),
          'login/id': fc.constantFrom(`n ${id}`, ''),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const email = fc.constantFrom(`u${id}@example.org`, `U${id}@Example.org`, `other.${id}@example.org`);
  return fc
    .tuple(email, names, others, forgottenArbitrary)
    .map(([mail, name, other, forgotten]) => ({ id, email: mail, ...name, ...other, ...forgotten }));
}

function boardArbitrary(id: bigint) {
  const others = fc.record(
    {
      category: fc.constantFrom('Communications', 'Bookmarks', ''),
      lti_id: fc.constantFrom(`lti-${id}`, `lti ${id}/ä?`, ''),
      course_id: fc.constantFrom(`C${id}`, `C ${id}%`, ''),
      created_at: timestampArbitrary,
    },
    { requiredKeys: [] },
  );
  return fc.tuple(titleArbitrary, others).map(([title, other]) => ({ id, title, ...other }));
}

function pinArbitrary(id: bigint, userIds: readonly bigint[], boardIds: readonly bigint[]) {
  const others = fc.record(
    {
      body: bodyArbitrary,
      web_url: fc.constantFrom('', 'https://example.org/?a=1&b=2'),
      image_url: fc.constantFrom('', 'https://example.org/i.png'),
      tags: fc.array(fc.constantFrom('x', 'y, z', 'ü', '"')),
    },
    { requiredKeys: [] },
  );
  return fc
    .tuple(titleArbitrary, fc.constantFrom(...boardIds), fc.constantFrom(...userIds), others)
    .map(([title, board_id, owner_id, other]) => ({ id, board_id, owner_id, title, ...other }));
}

/** Repeated by frequency; `user.followed` looks like following a board, and is not. */
const KINDS = [
  ...['pin.visited', 'pin.created', 'pin.created', 'pin.commented', 'pin.commented'],
  ...['board.followed', 'board.followed', 'board.unfollowed', 'user.followed', 'user.unfollowed'],
];

function eventArbitrary(
  userIds: readonly bigint[],
  boardIds: readonly bigint[],
  pinIds: readonly bigint[],
  haveBodies: boolean,
): fc.Arbitrary<EventInput> {
  const kinds = pinIds.length === 0 ? KINDS.filter((kind) => !kind.startsWith('pin')) : KINDS;
  return fc
    .record({
      id: fc.option(fc.constantFrom(...EVENT_IDS), { nil: undefined, freq: 2 }),
      kind: fc.constantFrom(...kinds),
      owner_id: fc.constantFrom(...userIds),
      actor_id: fc.constantFrom(...userIds),
      board_id: fc.constantFrom(...boardIds),
      pin_id: fc.constantFrom(...(pinIds.length === 0 ? [0n] : pinIds)),
      timestamp: timestampArbitrary,
      body: haveBodies ? bodyArbitrary : fc.constant(undefined),
    })
    .map(({ id, kind, pin_id, body, ...event }) => {
      const [type = '', action = ''] = kind.split('.');
      return {
        ...(id === undefined ? {} : { id }),
        ...event,
        type,
        action,
        ...(type === 'pin' ? { pin_id } : {}),
        ...(body === undefined ? {} : { body }),
      };
    });
}

/**
 * An organization that is imported in one to three bundles, some with identical repeated events.
 */
export const organizationArbitrary: fc.Arbitrary<OrganizationPlan> = fc
  .record({
    userIds: fc.subarray(USER_IDS, { minLength: 1 }),
    boardIds: fc.subarray(BOARD_IDS, { minLength: 1 }),
    pinIds: fc.subarray(PIN_IDS),
    haveBodies: fc.boolean(),
  })
  .chain(({ userIds, boardIds, pinIds, haveBodies }) => {
    const user = fc.constantFrom(...userIds);
    const board = fc.constantFrom(...boardIds);
    const pair = fc.record({ board_id: board, user_id: user });
    const aboutPair = <T>(others: fc.Arbitrary<T>) =>
      fc.tuple(pair, others).map(([ids, fields]) => ({ ...ids, ...fields }));
    const events = fc
      .array(fc.tuple(eventArbitrary(userIds, boardIds, pinIds, haveBodies), fc.constantFrom(1, 1, 1, 2)), {
        maxLength: 14,
      })
      .map((counted) => counted.flatMap(([event, times]) => Array.from({ length: times }, () => event)));
    const rest = {
      events,
      memberships: fc.array(pair, { maxLength: 2 }),
      points: fc.array(
        aboutPair(fc.record({ total_points: fc.nat(300), participation_score: fc.nat(100) })),
        { maxLength: 1 },
      ),
      adjustments: fc.array(
        aboutPair(
          fc.record({
            points: fc.integer({ min: -15, max: 15 }),
            timestamp: timestampArbitrary,
            reason: fc.constantFrom('late work', 'typo'),
          }),
        ),
        { maxLength: 3 },
      ),
    };
    const first: fc.Arbitrary<Bundle> = fc.record({
      users: fc.tuple(...userIds.map(userArbitrary)),
      boards: fc.tuple(...boardIds.map(boardArbitrary)),
      pins: fc.tuple(...pinIds.map((id) => pinArbitrary(id, userIds, boardIds))),
      ...rest,
    });
    const again = fc.array(fc.tuple(fc.nat(), fc.constantFrom(1, 2, 3)), { maxLength: 3 });
    const later = fc.record({
      again,
      users: fc.array(user.chain(userArbitrary), { maxLength: 2 }),
      boards: fc.array(board.chain(boardArbitrary), { maxLength: 2 }),
      pins:
        pinIds.length === 0
          ? fc.constant([])
          : fc.array(
              fc.constantFrom(...pinIds).chain((id) => pinArbitrary(id, userIds, boardIds)),
              { maxLength: 2 },
            ),
      ...rest,
    });
    const settings = fc.record({
      title: titleArbitrary,
      domain: fc.constantFrom('', 'harbor.example'),
      categoryId: fc.constantFrom(0n, 3n, 2n ** 53n + 9n),
      courseLookup: fc.boolean(),
      lmsUserProperties: fc.subarray(LMS_PROPERTIES),
      userPointsKey: fc.constantFrom('user-id' as const, 'board-id' as const),
      policy: fc.option(policyArbitrary(boardIds), { nil: undefined }),
    });
    return fc
      .tuple(settings, first, fc.array(later, { maxLength: 2 }), fc.constantFrom<Format[]>('csv', 'ndjson'))
      .map(([own, one, more, format]) => ({
        settings: own,
        bundles: [one, ...more.map(({ again: picks, ...bundle }) => withRepeats(bundle, one.events, picks))],
        format,
      }));
  });

/** Adds some earlier events to the bundle; each pick has the index of an event and a count. */
function withRepeats(
  bundle: Bundle,
  earlier: readonly EventInput[],
  picks: readonly [number, number][],
): Bundle {
  const repeats = picks.flatMap(([place, times]) => {
    const event = earlier[place % earlier.length];
    return event === undefined ? [] : Array.from({ length: times }, () => event);
  });
  return { ...bundle, events: [...bundle.events, ...repeats] };
}

/** Full, empty and partial scopes; lists may name ids that do not exist. */
export const scopeArbitrary: fc.Arbitrary<Scope> = fc.record({
  boards: fc.oneof(
    { weight: 1, arbitrary: fc.constant('all' as const) },
    { weight: 3, arbitrary: fc.subarray([...BOARD_IDS, UNKNOWN_ID]) },
  ),
  users: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('all' as const, 'of-boards' as const) },
    { weight: 1, arbitrary: fc.subarray([...USER_IDS, UNKNOWN_ID]) },
  ),
});

/** Every combination of redactions, including none. */
export function allRedactions(): readonly Redaction[] {
  const all = [NO_REDACTION];
  for (const field of REDACTABLE) all.push(...all.map((redaction) => ({ ...redaction, [field]: true })));
  return all;
}

export const redactionArbitrary: fc.Arbitrary<Redaction> = fc.constantFrom(...allRedactions());

export const rangeArbitrary: fc.Arbitrary<TimeRange> = fc
  .tuple(fc.option(instantArbitrary, { nil: undefined }), fc.option(instantArbitrary, { nil: undefined }))
  .map(([one, other]) =>
    one !== undefined && other !== undefined
      ? { startMs: Math.min(one, other), endMs: Math.max(one, other) }
      : { startMs: one, endMs: other },
  );
