/**
 * `npm run bench:scaling`: what many organizations, and one very large one, need by the figures of
 * the last full benchmark.
 */
import { bytes, duration, renderTable, size } from '../table.ts';
import { type Cost, costAt, costOfAll, fitCost, spreadSizes } from './costs.ts';
import { type Figures, readFigures, valuesOf } from './figures.ts';

/** Each with its figure of the benchmark. */
const COSTS = {
  'file of a version': ['bytes', 'import/flat CSV/file/bytes'],
  'memory image': ['bytes', 'start/image/bytes'],
  'memory at rest': ['bytes', 'start/rest/bytes'],
  'memory of an import': ['bytes', 'import/flat CSV/peak/bytes'],
  import: ['ms', 'import/flat CSV/ms'],
  'publication of 1,000 events': ['ms', 'import/1,000 more events/ms'],
  'publication of the 1,000 latest events': ['ms', 'import/1,000 latest events/ms'],
  'until a server shows 1,000 events': ['ms', 'import/1,000 more events/taken up/ms'],
  'until a server shows the 1,000 latest events': ['ms', 'import/1,000 latest events/taken up/ms'],
  'start from the version': ['ms', 'start/ms'],
  'start from the image': ['ms', 'start again/ms'],
  'insight into all events': ['ms', 'insights/overview/ms'],
  'export, plain, first time': ['ms', 'plain/first/ms'],
  'export, plain': ['bytes', 'plain/bytes'],
  'export, gzip, first time': ['ms', 'gzip/first/ms'],
  'export, gzip': ['bytes', 'gzip/bytes'],
} as const satisfies Record<string, readonly [Cost['unit'], string]>;

type CostName = keyof typeof COSTS;
type Costs = ReadonlyMap<CostName, Cost>;

const FLEET = { organizations: 2_000, least: 1e6, most: 50e6 };
const LARGE_EVENTS = 1e9;
/** Shares of the organizations that are in memory at a time. */
const RESIDENT_SHARES = [0.1, 0.3, 1];
/** The share of the memory of a machine that its data may take. */
const MEMORY_SHARE = 0.5;
const MACHINES_GIB = [64, 256];

try {
  main(fitAll(readFigures()));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

function main(costs: Costs): void {
  const tables = [costTable(costs), fleetTable(costs), largeTable(costs)];
  process.stdout.write(tables.map((table) => `${table.join('\n')}\n`).join('\n'));
}

function fitAll(measured: Figures): Costs {
  const names = Object.keys(COSTS) as CostName[];
  return new Map(
    names.map((name) => [name, fitCost(COSTS[name][0], valuesOf(measured, COSTS[name][1]))] as const),
  );
}

function costTable(of: Costs): string[] {
  const rows = Array.from(of, ([name, cost]) => [
    name,
    ...[cost.fixed, cost.perEvent * 1e6].map((value) => inUnit(cost, value)),
    `${Math.round(cost.deviation * 100)} %`,
  ]);
  return renderTable([['what', 'fixed', 'a million events', 'deviation'], ...rows]);
}

function fleetTable(of: Costs): string[] {
  const sizes = spreadSizes(FLEET.organizations, FLEET.least, FLEET.most);
  const sum = (name: CostName) => costOfAll(of.get(name)!, sizes);
  const events = sizes.reduce((total, count) => total + count, 0);
  // The fixed part of memory at rest is that of the server.
  const memory = of.get('memory at rest')!.perEvent * events;
  const machines = RESIDENT_SHARES.flatMap((share) =>
    MACHINES_GIB.map((gibibytes) => {
      const count = Math.ceil((share * memory) / (MEMORY_SHARE * gibibytes * 2 ** 30));
      return [`machines of ${gibibytes} GiB with ${share * 100} % of them in memory`, String(count)];
    }),
  );
  return renderTable([
    [`${FLEET.organizations} organizations of ${size(FLEET.least)} to ${size(FLEET.most)} events`, ''],
    ['events', size(Math.round(events / 1e6) * 1e6)],
    [
      'disk: versions with spare files, and images',
      bytes(2 * sum('file of a version') + sum('memory image')),
    ],
    ['memory of all', bytes(memory)],
    ...machines,
    ['import of all, one after the other', hours(sum('import'))],
    ['1,000 events into each, one after the other', hours(sum('publication of 1,000 events'))],
    ['export of all as gzip: network', bytes(sum('export, gzip'))],
    ['export of all as gzip, first time', hours(sum('export, gzip, first time'))],
  ]);
}

function largeTable(of: Costs): string[] {
  const rows = Array.from(of, ([name, cost]) => [name, inUnit(cost, costAt(cost, LARGE_EVENTS))]);
  return renderTable([[`one organization of ${size(LARGE_EVENTS)} events`, ''], ...rows]);
}

function inUnit({ unit }: Cost, value: number): string {
  return unit === 'bytes' ? bytes(value) : duration(value);
}

function hours(ms: number): string {
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
