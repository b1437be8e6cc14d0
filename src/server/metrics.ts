/**
 * The figures that `/metrics` shows, each a registry of its own so that two servers in one process do not mix. Of
 * several workers any one shows the sum over all, in the way that prom-client lays down for each figure.
 */
import cluster from 'node:cluster';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { joinFigures } from './figures.ts';
import type { Impaired } from './impaired.ts';
import { LIMIT_NAMES, type LimitName, type Limits } from './limits.ts';
import { Tallies } from './tallies.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** `/metrics` requires no key, so it names organizations only if asked to (decision 65). */
export function createMetrics(impaired: Impaired, namesOrganizations = false) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const fellows = cluster.isWorker ? joinFigures(() => counted().getMetricsAsJSON()) : undefined;
  new Gauge({
    name: 'corkboard_workers',
    help: 'Processes that serve.',
    registers,
  }).set(1);
  const requests = new Counter({
    name: 'corkboard_requests_total',
    help: 'Requests whose answer has ended, by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'corkboard_request_duration_seconds',
    help: 'Time from the request to the last byte of its answer.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const sentBytes = new Counter({
    name: 'corkboard_sent_bytes_total',
    help: 'Bytes of answers, header included.',
    registers,
  });
  const ended = new Tallies(({ route, method, status, durationsS, bytes }) => {
    requests.inc({ route, method, status }, durationsS.length);
    for (const durationS of durationsS) durations.observe({ route }, durationS);
    sentBytes.inc(bytes);
  });
  /** Requests that are being answered; a plain number costs a tenth of a figure. */
  const inFlight = { count: 0 };
  new Gauge({
    name: 'corkboard_requests_in_flight',
    help: 'Requests that are being answered.',
    registers,
    collect() {
      this.set(inFlight.count);
    },
  });
  new Gauge({
    name: 'corkboard_impaired_organizations',
    help: 'Organizations whose version in force cannot be read, by what is served meanwhile; of several workers the most.',
    labelNames: ['state'],
    registers,
    // Each worker finds it for itself, so the sum would count an organization several times.
    aggregator: 'max',
    collect() {
      for (const [state, count] of Object.entries(impaired.counts())) this.set({ state }, count);
    },
  });
  const ofOrganization = namesOrganizations ? (['organization'] as const) : [];
  const counted = () => {
    ended.countAll();
    return registry;
  };
  return {
    contentType: registry.contentType,
    /** The text of `/metrics`. */
    async render(): Promise<string> {
      if (fellows === undefined) return counted().metrics();
      return AggregatorRegistry.aggregate([...(await fellows.gather())]).metrics();
    },
    /** Requests whose answer has ended. */
    ended,
    inFlight,
    limitRefusals: new Counter({
      name: 'corkboard_limit_refusals_total',
      help: 'What was refused because of a limit, by its name.',
      labelNames: ['limit'],
      registers,
    }),
    cutResponses: new Counter({
      name: 'corkboard_cut_responses_total',
      help: 'Responses that the server has cut, by reason: a limit, key-ended, key-changed or person-forgotten.',
      labelNames: ['reason'],
      registers,
    }),
    /**
     * Shows how much is in use of each resource that has a limit for all keys together, beside that
     * limit.
     */
    showInUse(limits: Limits, readers: Readonly<Partial<Record<LimitName, () => number>>>): void {
      const labelNames = ['limit'];
      const names = LIMIT_NAMES.filter((name) => readers[name] !== undefined);
      new Gauge({
        ...{ name: 'corkboard_in_use', labelNames, registers },
        help: 'What is in use of a resource, by the name of its limit.',
        collect() {
          for (const name of names) this.set({ limit: name }, readers[name]?.() ?? 0);
        },
      });
      const most = new Gauge({
        ...{ name: 'corkboard_limit', labelNames, registers },
        help: 'The most that may be in use of a resource, by the name of its limit.',
      });
      for (const name of names) most.set({ limit: name }, limits[name]);
    },
    refusedConnections: new Counter({
      name: 'corkboard_refused_connections_total',
      help: 'Connections that were closed because what came was no HTTP request, by code.',
      labelNames: ['code'],
      registers,
    }),
    /** The labels of what is counted by organization. */
    labelsOf: (organization: string) => (namesOrganizations ? { organization } : {}),
    datasetsOpened: new Counter({
      name: 'corkboard_datasets_opened_total',
      help: 'Published versions taken into service.',
      labelNames: ofOrganization,
      registers,
    }),
    datasetsOpen: new Gauge({
      name: 'corkboard_datasets_open',
      help: 'Published versions that are open, old ones with answers in flight included.',
      registers,
    }),
    datasetFailures: new Counter({
      name: 'corkboard_dataset_failures_total',
      help: 'Attempts to open, read or close a published version that failed.',
      labelNames: ofOrganization,
      registers,
    }),
  };
}
