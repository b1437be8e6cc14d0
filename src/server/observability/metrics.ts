/**
 * The metrics of `/metrics`, in one registry per application, so that two servers in one process do
 * not mix. With several workers, each one shows the aggregate over all of them, as the library
 * defines it for each metric.
 */
import cluster from 'node:cluster';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Keyring } from '../../keys/keyring.ts';
import { readProductVersion } from '../../system/product-version.ts';
import { zoneData } from '../../system/zones.ts';
import { LIMIT_NAMES, type LimitName, type Limits } from '../limits/limits.ts';
import type { Impaired } from '../versions/impaired.ts';
import { joinMetrics } from './cluster-metrics.ts';
import { addKeyGauges } from './key-gauges.ts';

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricsOptions {
  /** Number of processes that serve together. */
  readonly workers: number;
  /** `/metrics` requires no key, so it names organizations only if asked to (decision 65). */
  readonly namesOrganizations: boolean;
}

/** The metrics of the process. Collected only once, because the library never stops measuring. */
let ofProcess: Registry | undefined;

function collectOfProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Quantiles of several workers cannot be added up.
  registry.removeSingleMetric('nodejs_eventloop_utilization_summary');
  return registry;
}

export function createMetrics(
  impaired: Impaired,
  keyring: Keyring,
  { workers, namesOrganizations }: MetricsOptions,
) {
  ofProcess ??= collectOfProcess();
  const registry = Registry.merge([ofProcess]);
  const registers = [registry];
  new Gauge({
    name: 'corkboard_workers',
    help: 'Serving processes.',
    registers,
  }).set(1);
  new Gauge({
    name: 'corkboard_workers_configured',
    help: 'Serving processes that were configured.',
    registers,
    aggregator: 'max',
  }).set(workers);
  new Gauge({
    name: 'corkboard_build_info',
    help: 'Always 1; the labels are the versions of Corkboard and of Node.js.',
    labelNames: ['version', 'node'],
    registers,
    aggregator: 'max',
  }).set({ version: readProductVersion(), node: process.versions.node }, 1);
  new Gauge({
    name: 'corkboard_zone_data_info',
    help: 'Always 1; the label is the version of the time zone rules.',
    labelNames: ['version'],
    registers,
    aggregator: 'max',
  }).set({ version: zoneData() }, 1);
  const requests = new Counter({
    name: 'corkboard_requests_total',
    help: 'Finished requests, by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'corkboard_request_duration_seconds',
    help: 'Time from the request to the last byte of the response.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const sentBytes = new Counter({
    name: 'corkboard_sent_bytes_total',
    help: 'Bytes sent in responses, header fields included.',
    registers,
  });
  /** Requests in progress. A plain number is several times as fast as a metric of the library. */
  const inFlight = { count: 0 };
  new Gauge({
    name: 'corkboard_requests_in_flight',
    help: 'Requests in progress.',
    registers,
    collect() {
      this.set(inFlight.count);
    },
  });
  new Gauge({
    name: 'corkboard_impaired_organizations',
    help: 'Organizations whose current version cannot be read, by what is served instead; the maximum over workers.',
    labelNames: ['state'],
    registers,
    // Each worker finds an impaired organization by itself, so the sum would count it several
    // times.
    aggregator: 'max',
    collect() {
      for (const [state, count] of Object.entries(impaired.counts())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'corkboard_impaired_keys',
    help: '1 if a key could not be read because the keys are damaged, since the start; otherwise 0.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(Number(impaired.keys));
    },
  });
  addKeyGauges(keyring, registry, namesOrganizations);
  const ofOrganization = namesOrganizations ? (['organization'] as const) : [];
  return {
    /** The text of `/metrics`; absent when a worker has not responded. */
    render: cluster.isWorker ? joinMetrics(registry) : () => registry.metrics(),
    /** Counts a request whose response has ended. */
    countRequest(route: string, method: string, status: number, durationS: number, bytes: number): void {
      requests.inc({ route, method, status });
      durations.observe({ route }, durationS);
      sentBytes.inc(bytes);
    },
    inFlight,
    limitRefusals: new Counter({
      name: 'corkboard_limit_refusals_total',
      help: 'Requests refused because of a limit, by limit.',
      labelNames: ['limit'],
      registers,
    }),
    cutResponses: new Counter({
      name: 'corkboard_cut_responses_total',
      help: 'Responses cut by the server, by reason: a limit, key-ended, key-changed or person-forgotten.',
      labelNames: ['reason'],
      registers,
    }),
    /**
     * Shows the current use of each resource that has a limit for all keys together, next to that
     * limit.
     */
    showInUse(limits: Limits, readers: Readonly<Partial<Record<LimitName, () => number>>>): void {
      const labelNames = ['limit'];
      const names = LIMIT_NAMES.filter((name) => readers[name] !== undefined);
      new Gauge({
        ...{ name: 'corkboard_in_use', labelNames, registers },
        help: 'Current use of a limited resource, by limit.',
        collect() {
          for (const name of names) this.set({ limit: name }, readers[name]?.() ?? 0);
        },
      });
      const most = new Gauge({
        ...{ name: 'corkboard_limit', labelNames, registers },
        help: 'Limit of a resource, by name.',
      });
      for (const name of names) most.set({ limit: name }, limits[name]);
    },
    refusedConnections: new Counter({
      name: 'corkboard_refused_connections_total',
      help: 'Connections closed because of an invalid HTTP request, by code.',
      labelNames: ['code'],
      registers,
    }),
    lostAccessRecords: new Counter({
      name: 'corkboard_lost_access_records_total',
      help: 'Access records of the audit that could not be written.',
      registers,
    }),
    /** The labels of metrics that are counted by organization. */
    labelsOf: (organization: string) => (namesOrganizations ? { organization } : {}),
    datasetsOpened: new Counter({
      name: 'corkboard_datasets_opened_total',
      help: 'Versions opened for service.',
      labelNames: ofOrganization,
      registers,
    }),
    datasetsOpen: new Gauge({
      name: 'corkboard_datasets_open',
      help: 'Open versions, including old ones that responses in progress still read.',
      registers,
    }),
    datasetFailures: new Counter({
      name: 'corkboard_dataset_failures_total',
      help: 'Failed attempts to open, read or close a version.',
      labelNames: ofOrganization,
      registers,
    }),
  };
}
