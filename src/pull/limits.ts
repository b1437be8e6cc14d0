/** How much a pull takes from a server. A server is not trusted to stop by itself (decision 61). */

export interface PullLimits {
  /** Of a list of users or boards. */
  readonly listBytes: number;
  /** Of all events as one list. */
  readonly eventsBytes: number;
  /** Of a page of events. */
  readonly pageBytes: number;
  /** Of the points of one board. */
  readonly pointsBytes: number;
  readonly boards: number;
  /** In one walk through the events, empty ones included. */
  readonly pages: number;
  /** Users that the pages of one pull say are forgotten. */
  readonly forgotten: number;
  /** What the names and roles of people may take in memory. */
  readonly peopleBytes: number;
  /** Of the disk space that is free, the share that one pull may fill. */
  readonly shareOfDisk: number;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Far above real organizations: ten million events are about 9 GB in one list. */
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
