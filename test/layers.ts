/**
 * The rooms of `src/` and the console, and what each may import beside itself: the one list from
 * which the rules of the linter and the last column of the table in ARCHITECTURE.md are made. To
 * make them anew: `node test/layers.ts`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const ARCHITECTURE = join(ROOT, 'ARCHITECTURE.md');
const RULES = join(ROOT, 'biome.json');

/** What every room but the client may import; they import no other room. */
export const BASE_ROOMS = ['src/domain', 'src/system'] as const;

/** In the order of the folders. No room imports itself by way of others. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'src/domain': [],
  'src/system': [],
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
};

/** Wires the rest together: may import every room, and read the environment. */
export const WIRING_ROOM = 'src/cli';
/** Runs in browsers too, so it imports nothing that they have not. */
export const BROWSER_ROOM = 'src/client';
/** Packages, each by the pattern of the linter, that one room alone may import. */
export const DRIVERS: Readonly<Record<string, string>> = {
  '@duckdb/**': 'src/store/version',
  pg: 'src/store/catalog',
  kysely: 'src/store/catalog',
  'kysely/**': 'src/store/catalog',
  '@aws-sdk/**': 'src/store/chunks',
};

/** A driver belongs to a room with all of its folders. */
export function isOwner(room: string, driver: string): boolean {
  return `${room}/`.startsWith(`${DRIVERS[driver]}/`);
}

/** All that a room may import beside itself. */
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
    { group: drivers, message: 'Only the store knows its driver.' },
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

/** As ARCHITECTURE.md tells it. */
function toldImports(room: string): string {
  if (room === WIRING_ROOM) return 'all';
  const names = (ROOMS[room] ?? []).map((target) => `\`${target.replace('src/', '')}\``);
  return names.length === 0 ? 'nothing' : names.join(', ');
}

/** The part of `biome.json` that is made here. */
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

/** Rooms in the order of the table. */
export function roomsIn(architecture: string): readonly string[] {
  return [...architecture.matchAll(ROW)].map(([, room = '']) => room);
}

/** The same text with the column of what a room may import as it is here. */
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
