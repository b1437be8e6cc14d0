/** The responses of the insights as schemas: the source of their OpenAPI document. */
import { type TSchema, Type } from 'typebox';
import { FIELD_NOTES } from '../../domain/field-notes.ts';
import { BINS } from '../../insights/participation.ts';
import { BoardOfVariantB, Organization, Pin, UserOfVariantB } from './schemas.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Instant = (description: string) => Type.String({ format: 'date-time', description });
const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const named = (title: string, properties: Record<string, TSchema>) => Type.Object(properties, { title });

const ZoneData = Type.String({ description: 'Version of the time zone rules.' });

const PERIODS = {
  interval: Type.String({ description: 'Length of each period.' }),
  zone: Type.String({ description: 'Time zone of the periods.' }),
  zoneData: ZoneData,
  periods: Type.Array(Instant('Start of a period.'), {
    description: 'Each period ends where the next one begins.',
  }),
  end: orNull(Instant('End of the last period, at most the last instant of the year 9999.')),
};

const OVERVIEW = {
  events: Count('Matching events.'),
  people: Count('Distinct actors.'),
  boards: Count('Distinct boards.'),
  pins: Count('Distinct pins.'),
  first: orNull(Instant('First event.')),
  last: orNull(Instant('Last event.')),
  actions: Type.Array(Type.Object({ action: Type.String(), events: Count('Events with this action.') }), {
    description: 'Most events first.',
  }),
};

const PreviousOverview = named('PreviousOverview', {
  start: Instant('Start of the range before, inclusive; at the earliest, the start of the year 1.'),
  end: Instant('Its end, exclusive: the start of the requested range.'),
  ...OVERVIEW,
});

export const Overview = named('Overview', {
  organization: Organization,
  board: orNull(BoardOfVariantB),
  user: orNull(UserOfVariantB),
  ...OVERVIEW,
  previous: Type.Optional(PreviousOverview),
});

export const Activity = named('Activity', {
  ...PERIODS,
  by: orNull(Type.String({ description: 'Property that splits the events into series.' })),
  people: Type.Array(Count('Distinct actors in the period.')),
  series: Type.Array(
    Type.Object({
      label: orNull(
        Type.String({
          description:
            'The action, type, role or value; null for all, for others and for a board. Empty for no class role, and for no value of an LMS property.',
        }),
      ),
      board: orNull(BoardOfVariantB),
      events: Type.Array(Count('Events in the period.')),
    }),
  ),
});

export const Returning = named('Returning', {
  ...PERIODS,
  newcomers: Type.Array(
    Count('Users whose first event is in the period. Events before the range count, too.'),
  ),
  returning: Type.Array(Count('Users with events in the period and in an earlier one.')),
});

/** A row of the table of `Activity`. */
export const ActivityItem = Type.Object({
  period: Instant('Start of the period.'),
  people: Count('Distinct actors in the period, in all series together.'),
  label: orNull(
    Type.String({ description: 'The action, type, role, class role or LMS value of the series.' }),
  ),
  board: orNull(BoardOfVariantB),
  events: Count('Events of the series in the period.'),
});

/** A row of the table of `Returning`. */
export const ReturningItem = Type.Object({
  period: Instant('Start of the period.'),
  newcomers: Count('Users whose first event is in the period.'),
  returning: Count('Users with events in the period and in an earlier one.'),
});

export const ZoneOffsets = named('ZoneOffsets', {
  zone: Type.String({ description: 'Time zone.' }),
  zoneData: ZoneData,
  offsets: Type.Array(
    Type.Object({
      start: orNull(Instant('From when on; null: since before 1970.')),
      seconds: Type.Integer({ description: 'Local time minus UTC.' }),
    }),
    { description: 'Ascending, up to the year 2100. Each holds until the next one begins.' },
  ),
});

/** A row of the table of `HeatMap`. */
export const HeatMapItem = Type.Object({
  day: Type.Integer({ minimum: 1, maximum: 7, description: 'Day of the week; 1 is Monday.' }),
  hour: Type.Integer({ minimum: 0, maximum: 23, description: 'Hour of the day.' }),
  events: Count('Events in that hour of that day.'),
});

export const HeatMap = named('HeatMap', {
  zone: Type.String({ description: 'Time zone of the days and hours.' }),
  zoneData: ZoneData,
  hours: Type.Array(Type.Array(Count('Events.'), { minItems: 24, maxItems: 24 }), {
    minItems: 7,
    maxItems: 7,
    description: 'By day from Monday, by hour from 0.',
  }),
});

export const RankedBoard = Type.Object(
  {
    board: BoardOfVariantB,
    events: Count('Events.'),
    people: Count('Distinct actors.'),
    last: Instant('Last event.'),
  },
  { title: 'RankedBoard' },
);

export const RankedUser = Type.Object(
  {
    user: UserOfVariantB,
    events: Count('Events.'),
    boards: Count('Distinct boards.'),
    last: Instant('Last event.'),
  },
  { title: 'RankedUser' },
);

const POINTS = { total_points: Count('Points.'), participation_score: Count('Score.') };

/** The fields `POINTS_COLUMNS`. */
export const PointsRow = Type.Object(
  {
    user_id: UserOfVariantB.properties.id,
    email: UserOfVariantB.properties.email,
    name: UserOfVariantB.properties.name,
    board_id: BoardOfVariantB.properties.id,
    board_title: BoardOfVariantB.properties.title,
    total_points: Count(FIELD_NOTES.points.total_points),
    participation_score: Count(FIELD_NOTES.points.participation_score),
  },
  { title: 'PointsRow', description: 'Points of one user on one board.' },
);

export const Participation = named('Participation', {
  board: BoardOfVariantB,
  goal: Count('Points that a user needs to reach the goal.'),
  window_start: orNull(Instant('Events before this time earn no points.')),
  window_end: orNull(Instant('Events from this time on earn no points.')),
  at: orNull(Instant('Time for which the pace is calculated.')),
  people: Count('Users on the board.'),
  reached: Count('Users who have reached the goal.'),
  under_way: Count('Users with points, below the goal.'),
  not_started: Count('Users without points.'),
  distribution: Type.Array(Count('Users.'), {
    minItems: BINS,
    maxItems: BINS,
    description: 'By tenths of the goal reached; the last element counts users who have reached the goal.',
  }),
  median_points: Type.Integer({ minimum: 0 }),
  elapsed: orNull(
    Type.Number({ minimum: 0, maximum: 1, description: 'Share of the window that has passed.' }),
  ),
  pace_points: orNull(
    Type.Number({ minimum: 0, description: 'Points of a user who earns the goal at an even pace.' }),
  ),
  at_risk: Type.Array(Type.Object({ user: UserOfVariantB, ...POINTS }), {
    description: 'Users below that pace, or below the goal if the window has no end; fewest points first.',
  }),
  at_risk_people: Count('Number of all users at risk.'),
});

export const AttentionItem = Type.Object({
  user: UserOfVariantB,
  last: orNull(Instant('Last event of the user on the board.')),
  inactive_days: orNull(Count('Whole days since then.')),
  inactive: Type.Boolean({ description: 'Whether there is no event, or none for that many days.' }),
  behind: Type.Boolean({ description: 'Whether the user has less than half the median of the points.' }),
  total_points: Count('Points of the user on the board.'),
  participation_score: Count('Score of the user on the board.'),
});

export const Attention = named('Attention', {
  board: BoardOfVariantB,
  at: orNull(Instant('Time for which activity is judged.')),
  days: Count('Days without activity after which a user is inactive.'),
  people: Count('Users on the board.'),
  median_points: Count('Median of their points; the lower one of two.'),
  inactive_people: Count('Number of all inactive users.'),
  behind_people: Count('Number of all users with less than half the median.'),
  attention: Type.Array(AttentionItem, {
    description:
      'Users who are inactive or behind. First those who never acted, fewest points first, then those without activity for longest.',
  }),
  attention_people: Count('Number of all users who are inactive or behind.'),
});

export const Interactions = named('Interactions', {
  board: BoardOfVariantB,
  people: Type.Array(UserOfVariantB, { description: 'All users in the edges.' }),
  edges: Type.Array(
    Type.Object({
      actor: Type.Integer({ format: 'int64' }),
      owner: Type.Integer({ format: 'int64' }),
      events: Count('Events of this actor on content of this owner.'),
    }),
    { description: 'Most events first.' },
  ),
  pairs: Count('All pairs of an actor and a different owner.'),
  events: Count('Events whose actor and owner are different users.'),
  own_events: Count('Events whose actor is the owner.'),
});

export const RankedPin = Type.Object(
  {
    pin: Type.Object({
      id: Pin.properties.id,
      title: Pin.properties.title,
      web_url: Pin.properties.web_url,
      tags: Pin.properties.tags,
    }),
    owner: UserOfVariantB,
    events: Count('Events on the pin.'),
    people: Count('Distinct actors.'),
    first: Instant('First event.'),
    last: Instant('Last event.'),
  },
  { title: 'RankedPin' },
);

/** A row of the table of `Interactions`. */
export const InteractionItem = Type.Object({
  actor: UserOfVariantB,
  owner: UserOfVariantB,
  events: Count('Events of this actor on content of this owner.'),
});

export const RankedPins = named('RankedPins', {
  board: BoardOfVariantB,
  pins: Count('All pins with matching events.'),
  ranked: Type.Array(RankedPin, { description: 'Most events first.' }),
});

const Figures = Type.Object(POINTS);

export const LedgerLine = Type.Object({
  timestamp: orNull(
    Instant('Time of the event or adjustment; null for activity outside the scope of the key.'),
  ),
  what: Type.String({
    description: 'The event, the adjustment, or all activity outside the scope of the key.',
  }),
  rule: Type.String({ description: 'Rule of the award; empty if the line is not an award.' }),
  points: Type.Integer({ description: 'Points of the award or adjustment.' }),
  counted: Type.Boolean({ description: 'Whether the points are part of the total.' }),
  reason: Type.String({ description: 'Why the points count or do not count.' }),
  week: Type.String({ description: 'Start of the week; empty without a weekly maximum.' }),
  running_total: Type.Integer({ description: 'Sum of the points that count, up to this line.' }),
});

export const LedgerOfUser = named('Ledger', {
  board: BoardOfVariantB,
  user: UserOfVariantB,
  lines: Type.Array(LedgerLine),
  counted_points: Type.Integer(),
  adjusted_points: Type.Integer(),
  imported: orNull(Figures),
  standing: orNull(Figures),
  summary: Type.Array(Type.String()),
});

/** The file of a gradebook, whatever the system. */
export const GradebookFile = Type.String({ description: 'The whole file, as text.' });
export const GradebookRow = Type.Object(
  {},
  {
    ...{ title: 'GradebookRow', additionalProperties: Type.String() },
    description: 'One user. The columns are those that the system expects.',
  },
);
