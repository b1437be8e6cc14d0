/**
 * The modules of `src/`, and the modules that each may import in addition to itself. The linter
 * rules and the last column of the table in ARCHITECTURE.md are generated from this list; generate
 * them again with `node test/layers.ts`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const ARCHITECTURE = join(ROOT, 'ARCHITECTURE.md');
const RULES = join(ROOT, 'biome.json');

/** Modules that every module except the client may import. They import no others. */
export const BASE_ROOMS = ['src/domain', 'src/system'] as const;

/** In the order of the folders. There are no circular imports. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'src/domain': [],
  'src/system': [],
  'src/audit': ['src/keys', 'src/store', 'src/store/catalog', 'src/store/files'],
  'src/backup': ['src/keys', 'src/store', 'src/store/catalog', 'src/store/files'],
  'src/client': [],
  'src/dataset': [],
  'src/dataset/resident': ['src/dataset', 'src/points'],
  'src/export': ['src/store'],
  'src/ingest': [
    'src/dataset',
    'src/ingest/fields',
    'src/ingest/formats',
    'src/ingest/input',
    'src/ingest/records',
    'src/points',
    'src/store',
  ],
  'src/ingest/fields': ['src/store'],
  'src/ingest/follow': ['src/ingest', 'src/ingest/input', 'src/store'],
  'src/ingest/formats': ['src/ingest/fields'],
  'src/ingest/input': ['src/ingest/fields', 'src/ingest/formats', 'src/store'],
  'src/ingest/records': ['src/ingest/fields', 'src/ingest/formats', 'src/ingest/input', 'src/store'],
  'src/ingest/remote': ['src/client', 'src/ingest/fields'],
  'src/insights': ['src/dataset', 'src/points'],
  'src/keys': [],
  'src/points': ['src/dataset'],
  'src/pull': ['src/client', 'src/ingest/fields', 'src/ingest/input', 'src/ingest/remote'],
  'src/render': [
    'src/dataset',
    'src/render/fragments',
    'src/render/redaction',
    'src/render/text',
    'src/render/thread',
  ],
  'src/render/fragments': ['src/dataset', 'src/render/text'],
  'src/render/redaction': ['src/dataset', 'src/render/text'],
  'src/render/text': ['src/dataset'],
  'src/render/thread': ['src/dataset', 'src/render/fragments', 'src/render/text'],
  'src/server': [
    'src/audit',
    'src/keys',
    'src/render/text',
    'src/server/http',
    'src/server/limits',
    'src/server/observability',
    'src/server/request',
    'src/server/responses',
    'src/server/routes',
    'src/server/site',
    'src/server/traffic',
    'src/server/versions',
    'src/store',
  ],
  'src/server/bodies': ['src/dataset', 'src/render/thread'],
  'src/server/http': ['src/keys'],
  'src/server/limits': ['src/keys'],
  'src/server/observability': [
    'src/audit',
    'src/keys',
    'src/server/http',
    'src/server/limits',
    'src/server/routes',
    'src/server/versions',
    'src/store',
  ],
  'src/server/request': [
    'src/dataset',
    'src/insights',
    'src/keys',
    'src/points',
    'src/render',
    'src/render/text',
    'src/server/bodies',
    'src/server/http',
  ],
  'src/server/responses': [
    'src/keys',
    'src/render/text',
    'src/server/bodies',
    'src/server/limits',
    'src/server/observability',
    'src/server/request',
    'src/server/traffic',
    'src/server/versions',
  ],
  'src/server/routes': [
    'src/dataset',
    'src/insights',
    'src/points',
    'src/render/text',
    'src/server/http',
    'src/server/request',
  ],
  'src/server/site': ['src/server/http', 'src/server/request', 'src/server/routes'],
  'src/server/traffic': [
    'src/keys',
    'src/render/text',
    'src/server/bodies',
    'src/server/http',
    'src/server/limits',
    'src/server/observability',
    'src/server/request',
    'src/server/versions',
  ],
  'src/server/versions': [
    'src/dataset',
    'src/render',
    'src/render/thread',
    'src/server/bodies',
    'src/server/limits',
    'src/server/request',
    'src/store',
  ],
  'src/store': ['src/dataset', 'src/dataset/resident'],
  'src/store/catalog': ['src/store'],
  'src/store/chunks': [],
  'src/store/files': [
    'src/dataset',
    'src/store',
    'src/store/catalog',
    'src/store/chunks',
    'src/store/version/publish',
    'src/store/version/read',
  ],
  'src/store/version': ['src/store'],
  'src/store/version/parquet': [],
  'src/store/version/publish': ['src/points', 'src/store', 'src/store/version', 'src/store/version/parquet'],
  'src/store/version/read': [
    'src/dataset',
    'src/points',
    'src/store',
    'src/store/version',
    'src/store/version/parquet',
    'src/store/version/publish',
  ],
  'src/sync': ['src/client', 'src/render/text'],
  'src/sync/targets': ['src/store/catalog', 'src/store/chunks', 'src/sync'],
};

/** Connects all the others: may import every module, and read the environment. */
export const WIRING_ROOM = 'src/cli';
/** Also runs in browsers, so it imports nothing that they lack. */
export const BROWSER_ROOM = 'src/client';
/** Packages that only these modules may import. Keys are patterns of the linter. */
export const DRIVERS: Readonly<Record<string, readonly string[]>> = {
  '@duckdb/**': ['src/store/version', 'src/sync/targets'],
  pg: ['src/store/catalog', 'src/sync/targets'],
  kysely: ['src/store/catalog'],
  'kysely/**': ['src/store/catalog'],
  '@aws-sdk/**': ['src/store/chunks'],
};

/** A driver belongs to a module and all folders inside it. */
export function isOwner(room: string, driver: string): boolean {
  return (DRIVERS[driver] ?? []).some((owner) => `${room}/`.startsWith(`${owner}/`));
}

/** All modules that a module may import in addition to itself. */
export function importsOf(room: string): readonly string[] {
  if (room === BROWSER_ROOM) return [];
  return [...BASE_ROOMS.slice(0, baseRank(room)), ...(ROOMS[room] ?? [])];
}

/** `system` may import `domain`, which imports nothing. */
function baseRank(room: string): number {
  const rank = (BASE_ROOMS as readonly string[]).indexOf(room);
  return rank < 0 ? BASE_ROOMS.length : rank;
}

interface Pattern {
  readonly group: readonly string[];
  readonly message: string;
}

function override(room: string, files: string, pattern: Pattern | undefined): unknown {
  const drivers = Object.keys(DRIVERS).filter((driver) => !isOwner(room, driver));
  const patterns = [
    ...(pattern === undefined ? [] : [pattern]),
    { group: drivers, message: 'Only the modules in DRIVERS (test/layers.ts) know this package.' },
  ];
  return {
    includes: [files],
    linter: {
      rules: {
        style: {
          noRestrictedImports: { level: 'error', options: { patterns } },
          ...(room !== WIRING_ROOM && { noProcessEnv: 'error' }),
        },
      },
    },
  };
}

function roomPattern(room: string): Pattern {
  const isBrowsers = room === BROWSER_ROOM;
  const allowed = importsOf(room).map((target) => {
    const file = `${relative(room, target)}/*.ts`;
    return `!${file.startsWith('.') ? file : `./${file}`}`;
  });
  return {
    group: ['../**', './*/**', ...(isBrowsers ? ['node:*'] : []), ...allowed],
    message: `${room} may import ${toldImports(room)}. The rooms stand in test/layers.ts.`,
  };
}

/** The column of ARCHITECTURE.md. */
function toldImports(room: string): string {
  if (room === WIRING_ROOM) return 'all';
  const names = (ROOMS[room] ?? []).map((target) => `\`${target.replace('src/', '')}\``);
  return names.length === 0 ? 'nothing' : names.join(', ');
}

/** The part of `biome.json` that is generated here. */
export function makeOverrides(): readonly unknown[] {
  const page = {
    group: ['**/../src/**', '**/../test/**', '../../../**', '../build/**', '../../build/**', 'node:*'].concat(
      // From the folders of the console, and from its top.
      ['!../../../src/client/*.ts', '!../../src/client/*.ts'],
    ),
    message: 'The console imports nothing of the product but its client, and nothing that a browser has not.',
  };
  return [
    ...Object.keys(ROOMS).map((room) => override(room, `${room}/*.ts`, roomPattern(room))),
    override(WIRING_ROOM, `${WIRING_ROOM}/**/*.ts`, undefined),
    override('console/src', 'console/src/**', page),
  ];
}

const ROW = /^\| `(src\/[\w/-]+)\/` \| (.*) \| [^|]* \|$/gm;

/** Modules in the order of the table. */
export function roomsIn(architecture: string): readonly string[] {
  return [...architecture.matchAll(ROW)].map(([, room = '']) => room);
}

/** The same text, with the column of permitted imports replaced. */
export function withImports(architecture: string): string {
  return architecture.replace(
    ROW,
    (_, room: string, holds: string) => `| \`${room}/\` | ${holds} | ${toldImports(room)} |`,
  );
}

if (import.meta.main) {
  writeFileSync(ARCHITECTURE, withImports(readFileSync(ARCHITECTURE, 'utf8')));
  const rules = JSON.parse(readFileSync(RULES, 'utf8'));
  writeFileSync(RULES, JSON.stringify({ ...rules, overrides: makeOverrides() }, undefined, 2));
  execFileSync(process.execPath, [BIOME, 'format', '--write', RULES], { cwd: ROOT });
}
