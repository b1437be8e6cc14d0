/** The options of `npm run bench`. */
import { parseArgs } from 'node:util';
import { SMALL_KINDS } from './questions.ts';

const SCENARIOS = [
  ...[
    'import',
    'start',
    'plain',
    'gzip',
    'zstd',
    ...SMALL_KINDS,
    'unchanged',
    'mixed',
    'insights',
    'growth',
    'blocking',
    'oulad',
    'peers',
    'stores',
    'sync',
    'against',
  ],
];

export const HELP = `npm run bench -- [options]

  --events N     events of the invented community, like 200000 or 10M; may be repeated (1M and 10M)
  --rounds N     rounds of each measurement (5)
  --only NAME    only this scenario; may be repeated:
                 ${SCENARIOS.join(', ')}
  --peers        comparable servers, too; they are installed into bench/peers and wanted by "postgresql" of the system
  --blocking     how long a request of each kind blocks the event loop of the server
  --stores       import, start and take-up over a folder, PostgreSQL and a bucket; requires "postgresql" of the system
  --sync         copies in DuckDB, SQLite, Parquet, a bucket and, with "postgresql" of the system, PostgreSQL
  --append       add the results of a partial run to bench/results.md
  --keep DIR     leave the data in DIR; a run that finds it there measures neither a start nor an import of everything
  --against DIR  another built checkout beside this one; with --stores it has rows there as well
  --quick        little data and short rounds: shows that all works, not how fast
  --no-build     measure dist/ as it is
  --soak         instead: mixed load with publications, checked for mixed versions, errors and growing memory
  --minutes N    how long the soak, or --shared, lasts (5)
  --neighbours   instead: one tenant attacks with one key while another one works
  --organizations N  instead: N organizations of --events events each (100000) on one server, asked once each, then at random for --minutes
  --shared       instead: four servers and two importers with 200 organizations on one PostgreSQL, for --minutes
  --workers N    processes of the server that is attacked (1)
  --help         this text

A run without --only and --quick writes bench/results.md and bench/speed.svg; a later partial run
with --append adds a section.
`;

export interface Options {
  readonly events: readonly number[];
  readonly rounds: number;
  readonly only: readonly string[];
  readonly peers: boolean;
  readonly stores: boolean;
  readonly sync: boolean;
  readonly append: boolean;
  readonly keep: string | undefined;
  readonly against: string | undefined;
  readonly blocking: boolean;
  readonly quick: boolean;
  readonly build: boolean;
  readonly soak: boolean;
  readonly minutes: number;
  readonly neighbours: boolean;
  readonly shared: boolean;
  /** Absent: the other scenarios run. */
  readonly organizations: number | undefined;
  readonly workers: number;
  readonly help: boolean;
}

/** Throws an error with a readable message if the arguments are invalid. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      events: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      peers: { type: 'boolean', default: false },
      stores: { type: 'boolean', default: false },
      sync: { type: 'boolean', default: false },
      append: { type: 'boolean', default: false },
      keep: { type: 'string' },
      against: { type: 'string' },
      blocking: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      'no-build': { type: 'boolean', default: false },
      soak: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      neighbours: { type: 'boolean', default: false },
      shared: { type: 'boolean', default: false },
      organizations: { type: 'string' },
      workers: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.find((name) => !SCENARIOS.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: there is ${SCENARIOS.join(', ')}.`);
  const { quick } = values;
  const usualEvents = values.organizations === undefined ? ['1M', '10M'] : ['100k'];
  return {
    events: (values.events ?? (quick ? ['20000'] : usualEvents)).map((text) => readCount('events', text)),
    rounds: readCount('rounds', values.rounds ?? (quick ? '1' : '5')),
    only: values.only,
    peers: values.peers || values.only.includes('peers'),
    stores: values.stores || values.only.includes('stores'),
    sync: values.sync || values.only.includes('sync'),
    append: values.append,
    keep: values.keep,
    against: values.against,
    blocking: values.blocking || values.only.includes('blocking'),
    quick,
    build: !values['no-build'],
    soak: values.soak,
    minutes: readMinutes(values.minutes ?? (quick ? '0.5' : '5')),
    neighbours: values.neighbours,
    shared: values.shared,
    organizations:
      values.organizations === undefined ? undefined : readCount('organizations', values.organizations),
    workers: readCount('workers', values.workers),
    help: values.help,
  };
}

function readCount(name: string, text: string): number {
  const [, digits, unit] = /^(\d{1,12})([kM]?)$/.exec(text) ?? [];
  const count = Number(digits) * { k: 1e3, M: 1e6, '': 1 }[unit ?? '']!;
  if (!Number.isSafeInteger(count) || count < 1)
    throw new Error(`--${name} requires a whole number from 1, like 10M.`);
  return count;
}

function readMinutes(text: string): number {
  const minutes = Number(text);
  if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error('--minutes requires a number above 0.');
  return minutes;
}
