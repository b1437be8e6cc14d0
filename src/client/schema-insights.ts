/** Types of the requests and responses of Corkboard, insights 1.0.0. Made by test/client/generate.ts. */

import type { Id } from './exact.ts';

export interface Organization {
  /** Organization. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** Name of the organization. */
  readonly name: string;
  /** Domain of the organization. */
  readonly domain: string;
  /** Category. Can exceed 2^53: keep all digits. */
  readonly category_id: Id;
}

export interface Board {
  /** Board. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** Title of the board. */
  readonly title: string;
  /** Category of the board. */
  readonly category: string;
}

export interface User {
  /** User. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** E-mail address of the user, or a stable pseudonym. */
  readonly email: string;
  /** Platform role. */
  readonly role: string;
  /** Display name, or a stable pseudonym. */
  readonly name: string;
}

export interface PreviousOverview {
  /** Start of the range before, inclusive; at the earliest, the start of the year 1. */
  readonly start: string;
  /** Its end, exclusive: the start of the requested range. */
  readonly end: string;
  /** Matching events. */
  readonly events: number;
  /** Distinct actors. */
  readonly people: number;
  /** Distinct boards. */
  readonly boards: number;
  /** Distinct pins. */
  readonly pins: number;
  readonly first: string | null;
  readonly last: string | null;
  /** Most events first. */
  readonly actions: readonly {
    readonly action: string;
    /** Events with this action. */
    readonly events: number;
  }[];
}

export interface Overview {
  readonly organization: Organization;
  readonly board: Board | null;
  readonly user: User | null;
  /** Matching events. */
  readonly events: number;
  /** Distinct actors. */
  readonly people: number;
  /** Distinct boards. */
  readonly boards: number;
  /** Distinct pins. */
  readonly pins: number;
  readonly first: string | null;
  readonly last: string | null;
  /** Most events first. */
  readonly actions: readonly {
    readonly action: string;
    /** Events with this action. */
    readonly events: number;
  }[];
  readonly previous?: PreviousOverview;
}

export interface Activity {
  /** Length of each period. */
  readonly interval: string;
  /** Time zone of the periods. */
  readonly zone: string;
  /** Version of the time zone rules. */
  readonly zoneData: string;
  /** Each period ends where the next one begins. */
  readonly periods: readonly string[];
  readonly end: string | null;
  readonly by: string | null;
  readonly people: readonly number[];
  readonly series: readonly {
    readonly label: string | null;
    readonly board: Board | null;
    readonly events: readonly number[];
  }[];
}

export interface Returning {
  /** Length of each period. */
  readonly interval: string;
  /** Time zone of the periods. */
  readonly zone: string;
  /** Version of the time zone rules. */
  readonly zoneData: string;
  /** Each period ends where the next one begins. */
  readonly periods: readonly string[];
  readonly end: string | null;
  readonly newcomers: readonly number[];
  readonly returning: readonly number[];
}

export interface ZoneOffsets {
  /** Time zone. */
  readonly zone: string;
  /** Version of the time zone rules. */
  readonly zoneData: string;
  /** Ascending, up to the year 2100. Each holds until the next one begins. */
  readonly offsets: readonly {
    readonly start: string | null;
    /** Local time minus UTC. */
    readonly seconds: number;
  }[];
}

export interface HeatMap {
  /** Time zone of the days and hours. */
  readonly zone: string;
  /** Version of the time zone rules. */
  readonly zoneData: string;
  /** By day from Monday, by hour from 0. */
  readonly hours: readonly (readonly number[])[];
}

export interface RankedBoard {
  readonly board: Board;
  /** Events. */
  readonly events: number;
  /** Distinct actors. */
  readonly people: number;
  /** Last event. */
  readonly last: string;
}

export interface RankedUser {
  readonly user: User;
  /** Events. */
  readonly events: number;
  /** Distinct boards. */
  readonly boards: number;
  /** Last event. */
  readonly last: string;
}

/** Owner or actor of an event. */
export interface Person {
  /** User identifier. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** E-mail address of the user, or a stable pseudonym. */
  readonly email: string;
  /** Display name, or a stable pseudonym. */
  readonly name: string;
  /** Platform role. */
  readonly role: string;
  /** Role in a class. */
  readonly class_role: string;
}

export interface Pin {
  /** Pin. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** Repeats the action of the event. */
  readonly activity: string;
  /** Title of the pin. */
  readonly title: string;
  /** Text of the pin. */
  readonly body: string;
  /** URL of the linked web page. */
  readonly web_url: string;
  /** URL of an image. */
  readonly image_url: string;
  /** Tags of the pin. */
  readonly tags: readonly string[];
}

export interface BoardRef {
  /** Board. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** Title of the board. */
  readonly title: string;
  /** Category of the board. */
  readonly category: string;
}

/** An event on a pin. */
export interface PinEvent {
  readonly type: 'pin';
  /** What the actor did. */
  readonly action: string;
  readonly owner: Person;
  readonly actor: Person;
  readonly organization: Organization;
  readonly pin: Pin;
  readonly board: BoardRef;
  /** When the event happened. */
  readonly timestamp: string;
  /** Only with `since`: identifies the event, even if its other members change. */
  readonly sync_id?: string;
}

/** An event on any other object. */
export interface OtherEvent {
  /** Kind of object acted on. */
  readonly type: string;
  /** What the actor did. */
  readonly action: string;
  readonly owner: Person;
  readonly actor: Person;
  readonly organization: Organization;
  readonly pin?: never;
  readonly board: BoardRef;
  /** When the event happened. */
  readonly timestamp: string;
  /** Only with `since`: identifies the event, even if its other members change. */
  readonly sync_id?: string;
}

/** An event. It has `pin` if and only if its type is `pin`. */
export type Event = PinEvent | OtherEvent;

/** Points of one user on one board. */
export interface PointsRow {
  /** User. Can exceed 2^53: keep all digits. */
  readonly user_id: Id;
  /** E-mail address of the user, or a stable pseudonym. */
  readonly email: string;
  /** Display name, or a stable pseudonym. */
  readonly name: string;
  /** Board. Can exceed 2^53: keep all digits. */
  readonly board_id: Id;
  /** Title of the board. */
  readonly board_title: string;
  /** Points of the user on the board. */
  readonly total_points: number;
  /** Score of the user on the board. */
  readonly participation_score: number;
}

export interface Participation {
  readonly board: Board;
  /** Points that a user needs to reach the goal. */
  readonly goal: number;
  readonly window_start: string | null;
  readonly window_end: string | null;
  readonly at: string | null;
  /** Users on the board. */
  readonly people: number;
  /** Users who have reached the goal. */
  readonly reached: number;
  /** Users with points, below the goal. */
  readonly under_way: number;
  /** Users without points. */
  readonly not_started: number;
  /** By tenths of the goal reached; the last element counts users who have reached the goal. */
  readonly distribution: readonly number[];
  readonly median_points: number;
  readonly elapsed: number | null;
  readonly pace_points: number | null;
  /** Users below that pace, or below the goal if the window has no end; fewest points first. */
  readonly at_risk: readonly {
    readonly user: User;
    /** Points. */
    readonly total_points: number;
    /** Score. */
    readonly participation_score: number;
  }[];
  /** Number of all users at risk. */
  readonly at_risk_people: number;
}

export interface Attention {
  readonly board: Board;
  readonly at: string | null;
  /** Days without activity after which a user is inactive. */
  readonly days: number;
  /** Users on the board. */
  readonly people: number;
  /** Median of their points; the lower one of two. */
  readonly median_points: number;
  /** Number of all inactive users. */
  readonly inactive_people: number;
  /** Number of all users with less than half the median. */
  readonly behind_people: number;
  /** Users who are inactive or behind. First those who never acted, fewest points first, then those without activity for longest. */
  readonly attention: readonly {
    readonly user: User;
    readonly last: string | null;
    readonly inactive_days: number | null;
    /** Whether there is no event, or none for that many days. */
    readonly inactive: boolean;
    /** Whether the user has less than half the median of the points. */
    readonly behind: boolean;
    /** Points of the user on the board. */
    readonly total_points: number;
    /** Score of the user on the board. */
    readonly participation_score: number;
  }[];
  /** Number of all users who are inactive or behind. */
  readonly attention_people: number;
}

export interface RankedPin {
  readonly pin: {
    /** Pin. Can exceed 2^53: keep all digits. */
    readonly id: Id;
    /** Title of the pin. */
    readonly title: string;
    /** URL of the linked web page. */
    readonly web_url: string;
    /** Tags of the pin. */
    readonly tags: readonly string[];
  };
  readonly owner: User;
  /** Events on the pin. */
  readonly events: number;
  /** Distinct actors. */
  readonly people: number;
  /** First event. */
  readonly first: string;
  /** Last event. */
  readonly last: string;
}

export interface RankedPins {
  readonly board: Board;
  /** All pins with matching events. */
  readonly pins: number;
  /** Most events first. */
  readonly ranked: readonly RankedPin[];
}

export interface Interactions {
  readonly board: Board;
  /** All users in the edges. */
  readonly people: readonly User[];
  /** Most events first. */
  readonly edges: readonly {
    readonly actor: Id;
    readonly owner: Id;
    /** Events of this actor on content of this owner. */
    readonly events: number;
  }[];
  /** All pairs of an actor and a different owner. */
  readonly pairs: number;
  /** Events whose actor and owner are different users. */
  readonly events: number;
  /** Events whose actor is the owner. */
  readonly own_events: number;
}

export interface Ledger {
  readonly board: Board;
  readonly user: User;
  readonly lines: readonly {
    readonly timestamp: string | null;
    /** The event, the adjustment, or all activity outside the scope of the key. */
    readonly what: string;
    /** Rule of the award; empty if the line is not an award. */
    readonly rule: string;
    /** Points of the award or adjustment. */
    readonly points: number;
    /** Whether the points are part of the total. */
    readonly counted: boolean;
    /** Why the points count or do not count. */
    readonly reason: string;
    /** Start of the week; empty without a weekly maximum. */
    readonly week: string;
    /** Sum of the points that count, up to this line. */
    readonly running_total: number;
  }[];
  readonly counted_points: number;
  readonly adjusted_points: number;
  readonly imported: {
    /** Points. */
    readonly total_points: number;
    /** Score. */
    readonly participation_score: number;
  } | null;
  readonly standing: {
    /** Points. */
    readonly total_points: number;
    /** Score. */
    readonly participation_score: number;
  } | null;
  readonly summary: readonly string[];
}

interface Parameters {
  /** Start of the time range, inclusive. */
  readonly start?: string;
  /** End of the time range, exclusive. */
  readonly end?: string;
  /** Only events, or points, on this board. */
  readonly board?: Id;
  /** Only events of which this user is the actor, or points of this user. */
  readonly user?: Id;
  /** Only events with this action. */
  readonly action?: string;
  /** With `previous`, the response has the same figures of the range before, which is as long as the requested one and ends where that starts. Requires `start` and `end`. */
  readonly compare?: 'previous';
  /** Length of a period, `day` by default. Weeks start on Monday, quarters in January, April, July and October. */
  readonly interval?: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';
  /** IANA time zone of days and hours, `UTC` by default. */
  readonly zone?: string;
  /** Split events by this; with `board`, boards beyond the first `top` form one series. `lms` splits by the LMS property of the actor that `property` names. */
  readonly by?: 'action' | 'type' | 'board' | 'role' | 'class_role' | 'lms';
  /** Name of an LMS property of users, for `by=lms`. A key needs a permission for each property. A value can have a series if at least ten users with events that the key can see have it; all others, and those beyond the first `top`, form the last series. The 0 of a value means no events, or that they are in the last series, because fewer than ten users with the value acted in the period or because the users of the last series would otherwise be fewer than ten. */
  readonly property?: string;
  /** Maximum number of elements, from the first. */
  readonly top?: number;
  /** Representation, for clients that cannot send `Accept`. */
  readonly format?: 'json' | 'ndjson' | 'csv' | 'parquet';
  /** With `1`, CSV for Excel and other spreadsheets: it starts with a byte order mark, and text that they could run as a formula is preceded by an apostrophe. Requires CSV. Not suitable for import. */
  readonly excel?: '1';
  /** `events` (default): most events first. `recent`: latest event first. */
  readonly order?: 'events' | 'recent';
  /** Maximum number of elements in the response; the header `Link` has the next page. Without it, the response is complete. */
  readonly limit?: number;
  /** Start of a page, taken from the header `Link` of the previous page. Requires `limit`. */
  readonly cursor?: string;
  /** Instant at which pace and activity are judged; by default that of the last event on the board. */
  readonly at?: string;
  /** Days of 24 hours without activity after which a user is inactive, 14 by default. */
  readonly days?: number;
  /** The system that imports the file, `generic` by default. */
  readonly for?: 'canvas' | 'moodle' | 'blackboard' | 'brightspace' | 'generic';
  /** `score` (default): the participation score. `points`: the total points. No effect for `generic`, which has both. */
  readonly value?: 'score' | 'points';
  /** Title of the column in the gradebook, `Participation` by default. No effect for `generic`. */
  readonly column?: string;
  /** LMS user property with the id by which the system knows users; users without a value are left out. Without it, users are known by their e-mail address. Requires a key that may see LMS ids (`--allow-lms-lookup`). */
  readonly id?: string;
  /** Only users with this class role. */
  readonly class_role?: string;
}

export interface Operations {
  /** Number of events, users, boards and pins. */
  readonly getOverview: {
    readonly query: Pick<Parameters, 'start' | 'end' | 'board' | 'user' | 'action' | 'compare'>;
    readonly answer: Overview;
  };
  /** Events and active users over time. */
  readonly getActivity: {
    readonly query: Pick<
      Parameters,
      | 'start'
      | 'end'
      | 'board'
      | 'user'
      | 'action'
      | 'interval'
      | 'zone'
      | 'by'
      | 'property'
      | 'top'
      | 'format'
      | 'excel'
    >;
    readonly answer: Activity;
  };
  /** New and returning users over time. */
  readonly getReturning: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'action' | 'interval' | 'zone' | 'format' | 'excel'
    >;
    readonly answer: Returning;
  };
  /** Offsets of a time zone. */
  readonly getZone: {
    readonly query: Pick<Parameters, 'zone'>;
    readonly answer: ZoneOffsets;
  };
  /** Events by day of the week and hour. */
  readonly getHeatMap: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'action' | 'zone' | 'format' | 'excel'
    >;
    readonly answer: HeatMap;
  };
  /** The most active boards. */
  readonly rankBoards: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'action' | 'order' | 'top' | 'format' | 'excel'
    >;
    readonly answer: readonly RankedBoard[];
  };
  /** The most active users. */
  readonly rankUsers: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'action' | 'order' | 'top' | 'format' | 'excel'
    >;
    readonly answer: readonly RankedUser[];
  };
  /** Events by board, user and action. */
  readonly findEvents: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'action' | 'limit' | 'cursor' | 'format' | 'excel'
    >;
    readonly answer: readonly Event[];
  };
  /** Points of all users on all boards, a row each. */
  readonly listPoints: {
    readonly query: Pick<
      Parameters,
      'start' | 'end' | 'board' | 'user' | 'limit' | 'cursor' | 'format' | 'excel'
    >;
    readonly answer: readonly PointsRow[];
  };
  /** Progress of the users on a board towards its goal. */
  readonly getParticipation: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<Parameters, 'at' | 'top'>;
    readonly answer: Participation;
  };
  /** Users on a board without activity, or behind the others. */
  readonly getAttention: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<Parameters, 'days' | 'at' | 'top' | 'format' | 'excel'>;
    readonly answer: Attention;
  };
  /** The pins of a board with the most events. */
  readonly rankPins: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<Parameters, 'start' | 'end' | 'user' | 'action' | 'top' | 'format' | 'excel'>;
    readonly answer: RankedPins;
  };
  /** Interactions between the users on a board. */
  readonly getInteractions: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<Parameters, 'start' | 'end' | 'user' | 'action' | 'top' | 'format' | 'excel'>;
    readonly answer: Interactions;
  };
  /** Every award of a user on a board. */
  readonly getLedger: {
    readonly names: { readonly 'board-id': Id; readonly 'user-id': Id };
    readonly query: Pick<Parameters, 'format' | 'excel'>;
    readonly answer: Ledger;
  };
  /** Points of the users on a board as a file for a gradebook. */
  readonly getGradebook: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<
      Parameters,
      'for' | 'value' | 'column' | 'id' | 'class_role' | 'start' | 'end' | 'format'
    >;
    readonly answer: string;
  };
}

/** The path of each operation, below the base URL. */
export const PATHS = {
  getOverview: '/v1/overview',
  getActivity: '/v1/activity',
  getReturning: '/v1/returning',
  getZone: '/v1/zone',
  getHeatMap: '/v1/heat-map',
  rankBoards: '/v1/boards',
  rankUsers: '/v1/users',
  findEvents: '/v1/events',
  listPoints: '/v1/points',
  getParticipation: '/v1/boards/{board-id}/participation',
  getAttention: '/v1/boards/{board-id}/attention',
  rankPins: '/v1/boards/{board-id}/pins',
  getInteractions: '/v1/boards/{board-id}/interactions',
  getLedger: '/v1/boards/{board-id}/users/{user-id}/ledger',
  getGradebook: '/v1/boards/{board-id}/gradebook',
} as const satisfies Record<keyof Operations, string>;
