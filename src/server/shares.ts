/** What the requests of one process share within limits (decision 60), and the metrics about it. */
import type { Keyring } from '../keys/keyring.ts';
import { ConnectionShares } from './connection-shares.ts';
import type { LimitName, Limits } from './limits.ts';
import type { Metrics } from './metrics.ts';
import { Quota } from './quota.ts';
import type { ReplacedVersions } from './replaced-versions.ts';
import { ResponsesUnderWay } from './responses-under-way.ts';
import { Turns } from './turns.ts';
import { ParquetFiles } from './written-answer.ts';

export interface Shares {
  readonly connections: ConnectionShares;
  readonly underWay: ResponsesUnderWay;
  readonly files: ParquetFiles;
  /** Live streams. */
  readonly streams: Quota;
  /** At the store, for data that is not in memory. */
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
  const files = new ParquetFiles(limits, countRefusal);
  const streams = new Quota('streams', limits, countRefusal);
  const turns = new Turns(limits);
  metrics.showInUse(limits, {
    responses: () => underWay.responses.used,
    'response-memory': () => underWay.memory.used,
    'parquet-files': () => files.making.used,
    'parquet-disk': () => files.disk.used,
    streams: () => streams.used,
    connections: () => connections.withKey + connections.withoutKey,
    'connections-without-key': () => connections.withoutKey,
    queries: () => turns.underWay,
    'replaced-versions': () => replaced.count,
    'replaced-memory': () => replaced.bytes,
  });
  return { connections, underWay, files, streams, turns };
}
