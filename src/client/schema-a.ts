/** Types of the requests and responses of Corkboard, Variant A 2.2.1. Made by test/client/generate.ts. */

import type { Id } from './exact.ts';

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

/** Only with `since`: an erased user. Delete all events whose actor has this id. */
export interface Forgotten {
  readonly forgotten: {
    /** User identifier. Can exceed 2^53: keep all digits. */
    readonly user: Id;
  };
}

/** Only with `since`: an event that was deleted. */
export interface Deleted {
  /** Of an earlier response. */
  readonly sync_id: string;
  readonly deleted: true;
}

export interface Board {
  /** Board. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** Title of the board. */
  readonly title: string;
}

export interface User {
  /** User. Can exceed 2^53: keep all digits. */
  readonly id: Id;
  /** First name. If imported without one: the display name up to its last space. */
  readonly first_name: string;
  /** Last name. If imported without one: the display name after its last space. */
  readonly last_name: string;
  /** E-mail address of the user, or a stable pseudonym. */
  readonly email: string;
}

/** Points of one user on one board. */
export interface PointsRecord {
  /** User. Can exceed 2^53: keep all digits. */
  readonly user_id: Id;
  /** Board. Can exceed 2^53: keep all digits. */
  readonly board_id: Id;
  /** E-mail address of the user, or a stable pseudonym. */
  readonly email: string;
  readonly total_points: number;
  readonly participation_score: number;
}

export interface PointsMap {
  readonly [name: string]: PointsRecord;
}

interface Parameters {
  /** Start of the time range, inclusive. */
  readonly start?: string;
  /** End of the time range, exclusive. */
  readonly end?: string;
  /** Maximum number of elements in the response; the header `Link` has the next page. Without it, the response is complete. */
  readonly limit?: number;
  /** Start of a page, taken from the header `Link` of the previous page. Requires `limit`. */
  readonly cursor?: string;
  /** Representation, for clients that cannot send `Accept`. */
  readonly format?: 'json' | 'ndjson' | 'csv' | 'parquet';
  /** With `1`, CSV for Excel and other spreadsheets: it starts with a byte order mark, and text that they could run as a formula is preceded by an apostrophe. Requires CSV. Not suitable for import. */
  readonly excel?: '1';
  /** Only changes since an earlier response: the value of its header `Sync-Token`, or `start` for everything in the form of changes (with `sync_id`, `forgotten` and `deleted`). JSON and NDJSON only. */
  readonly since?: string;
  /** With `board`, records are named by the id of their board, regardless of the setting of the organization. */
  readonly key?: 'board';
}

export interface Operations {
  /** All interactions of the organization. */
  readonly listEvents: {
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel' | 'since'>;
    readonly answer: readonly (Event | Forgotten | Deleted)[];
  };
  /** All interactions on a board. */
  readonly listEventsOfBoard: {
    readonly names: { readonly 'board-id': Id };
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel' | 'since'>;
    readonly answer: readonly (Event | Forgotten | Deleted)[];
  };
  /** All events of type pin, across all boards. */
  readonly listEventsOfPins: {
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel' | 'since'>;
    readonly answer: readonly (Event | Forgotten | Deleted)[];
  };
  /** All interactions from a user. */
  readonly listEventsOfUser: {
    readonly names: { readonly 'user-id': Id };
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel' | 'since'>;
    readonly answer: readonly (Event | Forgotten | Deleted)[];
  };
  /** The boards of the organization. */
  readonly listBoards: {
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel'>;
    readonly answer: readonly Board[];
  };
  /** The users of the organization. */
  readonly listUsers: {
    readonly query: Pick<Parameters, 'start' | 'end' | 'limit' | 'cursor' | 'format' | 'excel'>;
    readonly answer: readonly User[];
  };
  /** Points of all users on a board. */
  readonly getPointsOfBoard: {
    readonly names: { readonly boardId: Id };
    readonly query: Pick<Parameters, 'start' | 'end'>;
    readonly answer: PointsMap;
  };
  /** Points of a user on the boards that the user is on. */
  readonly getPointsOfUser: {
    readonly names: { readonly userId: Id };
    readonly query: Pick<Parameters, 'start' | 'end' | 'key'>;
    readonly answer: PointsMap;
  };
  /** Points of all users on the board with an LTI id. */
  readonly getPointsOfLti: {
    readonly names: { readonly ltiId: string };
    readonly query: Pick<Parameters, 'start' | 'end'>;
    readonly answer: PointsMap;
  };
  /** Points of all users on the board of a course. */
  readonly getPointsOfCourse: {
    readonly names: { readonly courseId: string };
    readonly query: Pick<Parameters, 'start' | 'end'>;
    readonly answer: PointsMap;
  };
  /** Points of the user with a value of an LMS property. */
  readonly getPointsOfLmsUser: {
    readonly names: { readonly prop: string; readonly val: string };
    readonly query: Pick<Parameters, 'start' | 'end' | 'key'>;
    readonly answer: PointsMap;
  };
}

/** The path of each operation, below the base URL. */
export const PATHS = {
  listEvents: '/v1/events',
  listEventsOfBoard: '/v1/events/board/{board-id}',
  listEventsOfPins: '/v1/events/pins',
  listEventsOfUser: '/v1/events/user/{user-id}',
  listBoards: '/v1/boards',
  listUsers: '/v1/users',
  getPointsOfBoard: '/v1/board/{boardId}/points',
  getPointsOfUser: '/v1/user/{userId}/points',
  getPointsOfLti: '/v1/lti/{ltiId}/points',
  getPointsOfCourse: '/v1/course/{courseId}/points',
  getPointsOfLmsUser: '/v1/lms_user/{prop}/{val}/points',
} as const satisfies Record<keyof Operations, string>;
