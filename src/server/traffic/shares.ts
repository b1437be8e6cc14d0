/**
 * The resources that the requests of one process share within limits (decision 60), and their
 * metrics.
 */
import type { Keyring } from '../../keys/keyring.ts';
import type { LimitName, Limits } from '../limits/limits.ts';
import { Quota } from '../limits/quota.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ReplacedVersions } from '../versions/replaced-versions.ts';
import { ConnectionShares } from './connection-shares.ts';
import { ParquetPlaces } from './parquet-places.ts';
import { ResponsesUnderWay } from './responses-under-way.ts';
import { Turns } from './turns.ts';

export interface Shares {
  readonly connections: ConnectionShares;
  readonly underWay: ResponsesUnderWay;
  readonly parquet: ParquetPlaces;
  /** Live streams. */
  readonly streams: Quota;
  /** Turns at the store, for data that is not in memory. */
  readonly turns: Turns;
}

export function openShares(
  limits: Limits,
  keyring: Keyring,
  replaced: ReplacedVersions,
  metrics: Metrics,
): Shares {
  const countRefusal = (limit: LimitName) => metrics.limitRefusals.inc({ limit });
  const countCut = (reason: string) => metrics.cutResponses.inc({ reason });
  const connections = new ConnectionShares(limits, countRefusal);
  const underWay = new ResponsesUnderWay(keyring, limits, { countRefusal, countCut });
  const parquet = new ParquetPlaces(limits, countRefusal);
  const streams = new Quota('streams', limits, countRefusal);
  const turns = new Turns(limits);
  metrics.showInUse(limits, {
    responses: () => underWay.responses.used,
    'response-memory': () => underWay.memory.used,
    'parquet-files': () => parquet.making.used,
    'parquet-disk': () => parquet.disk.used,
    streams: () => streams.used,
    connections: () => connections.withKey + connections.withoutKey,
    'connections-without-key': () => connections.withoutKey,
    queries: () => turns.underWay,
    'replaced-versions': () => replaced.count,
    'replaced-memory': () => replaced.bytes,
  });
  return { connections, underWay, parquet, streams, turns };
}
