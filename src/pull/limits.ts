/**
 * Limits on the data that a pull accepts. A server is not trusted to stop by itself (decision 61).
 */

export interface PullLimits {
  /** Size of a list of users or boards. */
  readonly listBytes: number;
  /** Size of all events as one list. */
  readonly eventsBytes: number;
  /** Size of a page of events. */
  readonly pageBytes: number;
  /** Size of the points of one board. */
  readonly pointsBytes: number;
  readonly boards: number;
  /** Number of pages in one traversal of the events, including empty ones. */
  readonly pages: number;
  /** Number of users that the pages of one pull report as forgotten. */
  readonly forgotten: number;
  /** Memory for the names and roles of users. */
  readonly peopleBytes: number;
  /** The share of the free disk space that one pull may use. */
  readonly shareOfDisk: number;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Far above the needs of real organizations: ten million events are about 9 GB in one list. */
export const LIMITS: PullLimits = {
  listBytes: 4 * GIB,
  eventsBytes: 256 * GIB,
  pageBytes: GIB,
  pointsBytes: GIB,
  boards: 1_000_000,
  pages: 1_000_000,
  forgotten: 1_000_000,
  peopleBytes: 1024 * MIB,
  shareOfDisk: 0.5,
};
