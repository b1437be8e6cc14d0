/** The responses of the insights as schemas: the source of their OpenAPI document. */
import { type TSchema, Type } from 'typebox';
import { BINS } from '../../insights/participation.ts';
import { BoardOfVariantB, Organization, UserOfVariantB } from './schemas.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Instant = (description: string) => Type.String({ format: 'date-time', description });
const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const named = (title: string, properties: Record<string, TSchema>) =>
  Type.Object(properties, { title, additionalProperties: false });

const PERIODS = {
  interval: Type.String({ description: 'As asked for.' }),
  zone: Type.String({ description: 'As asked for.' }),
  periods: Type.Array(Instant('Start of a period.'), {
    description: 'Each period ends where the next one begins.',
  }),
  end: orNull(Instant('End of the last period.')),
};

export const Overview = named('Overview', {
  organization: Organization,
  board: orNull(BoardOfVariantB),
  user: orNull(UserOfVariantB),
  events: Count('Events asked for.'),
  people: Count('Different actors.'),
  boards: Count('Different boards.'),
  pins: Count('Different pins.'),
  first: orNull(Instant('First event.')),
  last: orNull(Instant('Last event.')),
  actions: Type.Array(
    Type.Object(
      { action: Type.String(), events: Count('Events with this action.') },
      { additionalProperties: false },
    ),
    { description: 'Most events first.' },
  ),
});

export const Activity = named('Activity', {
  ...PERIODS,
  by: orNull(Type.String({ description: 'As asked for.' })),
  people: Type.Array(Count('Different actors in the period.')),
  series: Type.Array(
    Type.Object(
      {
        label: orNull(
          Type.String({ description: 'The action, type or role; null for all, for others and for a board.' }),
        ),
        board: orNull(BoardOfVariantB),
        events: Type.Array(Count('Events in the period.')),
      },
      { additionalProperties: false },
    ),
  ),
});

export const Returning = named('Returning', {
  ...PERIODS,
  newcomers: Type.Array(
    Count('People who act for the first time in the period, looking back before the range.'),
  ),
  returning: Type.Array(Count('People who act in the period and have acted in an earlier one.')),
});

export const HeatMap = named('HeatMap', {
  zone: Type.String({ description: 'As asked for.' }),
  hours: Type.Array(Type.Array(Count('Events.'), { minItems: 24, maxItems: 24 }), {
    minItems: 7,
    maxItems: 7,
    description: 'By day from Monday, by hour from 0.',
  }),
});

const ranked = (title: string, item: Record<string, TSchema>) =>
  Type.Array(named(title, { ...item, events: Count('Events.'), last: Instant('The last one.') }));

export const RankedBoards = ranked('RankedBoard', {
  board: BoardOfVariantB,
  people: Count('Different actors.'),
});
export const RankedUsers = ranked('RankedUser', { user: UserOfVariantB, boards: Count('Different boards.') });

const POINTS = { total_points: Count('Points.'), participation_score: Count('Score.') };

export const Participation = named('Participation', {
  board: BoardOfVariantB,
  goal: Count('Points that make 100 %.'),
  window_start: orNull(Instant('Only what happens from here on earns points.')),
  window_end: orNull(Instant('Nothing earns points from here on.')),
  at: orNull(Instant('The instant at which the pace is judged.')),
  people: Count('Who are on the board.'),
  reached: Count('At the goal or beyond.'),
  under_way: Count('With points, below the goal.'),
  not_started: Count('Without points.'),
  distribution: Type.Array(Count('People.'), {
    minItems: BINS,
    maxItems: BINS,
    description: 'By tenths of the goal reached; the last is the goal and beyond.',
  }),
  median_points: Type.Integer({ minimum: 0 }),
  elapsed: orNull(
    Type.Number({ minimum: 0, maximum: 1, description: 'Share of the window that has passed.' }),
  ),
  pace_points: orNull(
    Type.Number({ minimum: 0, description: 'What somebody has who earns the goal evenly.' }),
  ),
  at_risk: Type.Array(Type.Object({ user: UserOfVariantB, ...POINTS }, { additionalProperties: false }), {
    description: 'Below that pace, or below the goal where the window has no end; fewest points first.',
  }),
  at_risk_people: Count('All of them.'),
});

export const Interactions = named('Interactions', {
  board: BoardOfVariantB,
  people: Type.Array(UserOfVariantB, { description: 'Everybody in an edge.' }),
  edges: Type.Array(
    Type.Object(
      {
        actor: Type.Integer({ format: 'int64' }),
        owner: Type.Integer({ format: 'int64' }),
        events: Count('Of this actor with what this owner owns.'),
      },
      { additionalProperties: false },
    ),
    { description: 'Most events first.' },
  ),
  pairs: Count('All pairs of an actor and another owner.'),
  events: Count('Events between different people.'),
  own_events: Count('Events of people with what they own.'),
});

const RankedPin = named('RankedPin', {
  pin: Type.Object(
    {
      id: Type.Integer({ format: 'int64' }),
      title: Type.String(),
      web_url: Type.String(),
      tags: Type.Array(Type.String()),
    },
    { additionalProperties: false },
  ),
  owner: UserOfVariantB,
  events: Count('Events that carry the pin.'),
  people: Count('Different actors.'),
  first: Instant('The first one.'),
  last: Instant('The last one.'),
});

export const RankedPins = named('RankedPins', {
  board: BoardOfVariantB,
  pins: Count('All pins with events that are asked for.'),
  ranked: Type.Array(RankedPin, { description: 'Most events first.' }),
});

const Figures = Type.Object(POINTS, { additionalProperties: false });

export const LedgerOfUser = named('Ledger', {
  board: BoardOfVariantB,
  user: UserOfVariantB,
  lines: Type.Array(
    Type.Object(
      {
        timestamp: orNull(Instant('When it happened; null for activity outside the scope of the key.')),
        what: Type.String({
          description: 'The event, the adjustment, or all activity outside the scope of the key.',
        }),
        rule: Type.String({ description: 'The rule that pays; empty where the line is no award.' }),
        points: Type.Integer(),
        counted: Type.Boolean({ description: 'Whether the points are part of the total.' }),
        reason: Type.String({ description: 'Why, or why not.' }),
        week: Type.String({ description: 'Start of its week; empty without a weekly maximum.' }),
        running_total: Type.Integer(),
      },
      { additionalProperties: false },
    ),
  ),
  counted_points: Type.Integer(),
  adjusted_points: Type.Integer(),
  imported: orNull(Figures),
  standing: orNull(Figures),
  summary: Type.Array(Type.String()),
});
