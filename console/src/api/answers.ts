/** What the interface answers, as far as the console reads it. Ids are texts (see `parseExact`). */
export interface Board {
  readonly id: string;
  readonly title: string;
  readonly category: string;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
}

export interface Overview {
  readonly organization: { readonly id: string; readonly name: string; readonly domain: string };
  readonly board: Board | null;
  readonly user: Person | null;
  readonly events: number;
  readonly people: number;
  readonly boards: number;
  readonly pins: number;
  readonly first: string | null;
  readonly last: string | null;
  readonly actions: readonly { readonly action: string; readonly events: number }[];
}

interface Periods {
  readonly interval: string;
  readonly zone: string;
  readonly periods: readonly string[];
  readonly end: string | null;
}

export interface Activity extends Periods {
  readonly people: readonly number[];
  readonly series: readonly {
    readonly label: string | null;
    readonly board: Board | null;
    readonly events: readonly number[];
  }[];
}

export interface Returning extends Periods {
  readonly newcomers: readonly number[];
  readonly returning: readonly number[];
}

export interface HeatMapAnswer {
  readonly zone: string;
  readonly hours: readonly (readonly number[])[];
}

export interface RankedBoard {
  readonly board: Board;
  readonly events: number;
  readonly people: number;
  readonly last: string;
}

export interface RankedPerson {
  readonly user: Person;
  readonly events: number;
  readonly boards: number;
  readonly last: string;
}

export interface RankedPins {
  readonly pins: number;
  readonly ranked: readonly {
    readonly pin: {
      readonly id: string;
      readonly title: string;
      readonly web_url: string;
      readonly tags: readonly string[];
    };
    readonly owner: Person;
    readonly events: number;
    readonly people: number;
    readonly first: string;
    readonly last: string;
  }[];
}

interface Points {
  readonly total_points: number;
  readonly participation_score: number;
}

export interface Participation {
  readonly goal: number;
  readonly window_start: string | null;
  readonly window_end: string | null;
  readonly at: string | null;
  readonly people: number;
  readonly reached: number;
  readonly under_way: number;
  readonly not_started: number;
  readonly distribution: readonly number[];
  readonly median_points: number;
  readonly elapsed: number | null;
  readonly pace_points: number | null;
  readonly at_risk: readonly (Points & { readonly user: Person })[];
  readonly at_risk_people: number;
}

export interface Interactions {
  readonly people: readonly Person[];
  readonly edges: readonly { readonly actor: string; readonly owner: string; readonly events: number }[];
  readonly pairs: number;
  readonly events: number;
  readonly own_events: number;
}

/** Points of users on boards, keyed by e-mail address or by board. */
export type PointsMap = Readonly<
  Record<string, Points & { readonly user_id: string; readonly board_id: string; readonly email: string }>
>;

export interface Ledger {
  readonly board: Board;
  readonly user: Person;
  readonly lines: readonly {
    /** Null for activity outside the scope of the key. */
    readonly timestamp: string | null;
    readonly what: string;
    readonly rule: string;
    readonly points: number;
    readonly counted: boolean;
    readonly reason: string;
    readonly week: string;
    readonly running_total: number;
  }[];
  readonly counted_points: number;
  readonly adjusted_points: number;
  readonly imported: Points | null;
  readonly standing: Points | null;
  readonly summary: readonly string[];
}

export interface CommunityEvent {
  readonly type: string;
  readonly action: string;
  readonly actor: Person;
  readonly owner: Person;
  readonly board: Board;
  readonly pin?: { readonly id: string; readonly title: string };
  readonly timestamp: string;
}
