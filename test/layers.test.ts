/**
 * The directions between the rooms of `src/`, and what else a reader would ask for. The linter guards the directions;
 * here a file is planted for every import from every room to every other, and the linter has to refuse the right ones.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const LAYER_RULES = ['noRestrictedImports', 'noProcessEnv', 'noImportCycles'];

/** The table of rooms: what each may import beside itself. Who imports a driver or reads the environment is told apart. */
const ROOMS = {
  'src/dataset': ['src/app-error.ts', 'src/time-slice.ts'],
  'src/dataset/duckdb': [
    ...['src/app-error.ts', 'src/nearest-name.ts', 'src/time-slice.ts', 'src/dataset', 'src/points'],
  ],
  'src/store': [
    ...['src/app-error.ts', 'src/dataset', 'src/dataset/duckdb', 'src/store/catalog', 'src/store/chunks'],
  ],
  'src/store/catalog': ['src/app-error.ts', 'src/dataset'],
  'src/store/chunks': ['src/app-error.ts'],
  'src/dataset/resident': [
    ...['src/app-error.ts', 'src/nearest-name.ts', 'src/shelf.ts', 'src/time-slice.ts', 'src/dataset'],
    'src/points',
  ],
  'src/points': ['src/app-error.ts', 'src/nearest-name.ts', 'src/zone.ts', 'src/dataset'],
  'src/insights': ['src/app-error.ts', 'src/time-slice.ts', 'src/dataset', 'src/points'],
  'src/render': [
    ...['src/app-error.ts', 'src/json-text.ts', 'src/nearest-name.ts', 'src/shelf.ts'],
    ...['src/time-slice.ts', 'src/dataset'],
  ],
  'src/keys': ['src/app-error.ts', 'src/nearest-name.ts', 'src/dataset'],
  'src/ingest': [
    ...['src/app-error.ts', 'src/json-text.ts', 'src/nearest-name.ts', 'src/temporary-folder.ts'],
    ...['src/dataset', 'src/points', 'src/ingest/formats'],
  ],
  'src/ingest/formats': ['src/app-error.ts'],
  'src/export': ['src/app-error.ts', 'src/json-text.ts', 'src/dataset'],
  'src/client': [],
  'src/pull': ['src/app-error.ts', 'src/ingest'],
  'src/server': [
    ...['src/app-error.ts', 'src/json-text.ts', 'src/nearest-name.ts', 'src/shelf.ts'],
    ...['src/time-slice.ts', 'src/zone.ts'],
    ...['src/dataset', 'src/points', 'src/insights', 'src/render', 'src/keys'],
  ],
  'src/cli': [
    ...[
      'src/app-error.ts',
      'src/json-text.ts',
      'src/nearest-name.ts',
      'src/shelf.ts',
      'src/temporary-folder.ts',
      'src/time-slice.ts',
      'src/zone.ts',
      'src/dataset',
      'src/dataset/duckdb',
    ],
    ...[
      'src/store',
      'src/store/catalog',
      'src/store/chunks',
      'src/dataset/resident',
      'src/points',
      'src/insights',
      'src/render',
      'src/keys',
      'src/ingest',
      'src/ingest/formats',
      'src/export',
      'src/pull',
      'src/server',
      'src/client',
    ],
  ],
} as const satisfies Record<string, readonly string[]>;

const DRIVERS = {
  '@duckdb/node-api': 'src/dataset/duckdb',
  pg: 'src/store/catalog',
  kysely: 'src/store/catalog',
  'kysely/migration': 'src/store/catalog',
  '@aws-sdk/client-s3': 'src/store/chunks',
};
const ENVIRONMENT_ROOM = 'src/cli';
const SHARED_FILES = [
  ...['src/app-error.ts', 'src/json-text.ts', 'src/nearest-name.ts', 'src/shelf.ts'],
  ...['src/temporary-folder.ts', 'src/time-slice.ts', 'src/zone.ts'],
];

/** As from a page of the console, and whether they are refused. */
const CONSOLE_IMPORTS: readonly (readonly [from: string, isRefused: boolean])[] = [
  ['../parts/card.tsx', false],
  ['react', false],
  ['../../../src/server/app.ts', true],
  ['../../../src/dataset/query.ts', true],
  ['../../../test/world.ts', true],
  ['../../build/budget.ts', true],
  ['node:fs', true],
  ['pg', true],
];

function consolePlant(from: string): string {
  return `console/src/pages/plant-${from.replaceAll(/[^a-z]+/g, '-')}.ts`;
}

interface Plant {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly refused: boolean;
}

function plantsOf(room: string, mayImport: readonly string[]): readonly Plant[] {
  const targets = [...Object.keys(ROOMS), ...SHARED_FILES].map((target) => ({
    name: target === room ? 'itself' : target,
    from: specifier(room, extname(target) === '' ? `${target}/thing.ts` : target),
    refused: target !== room && !mayImport.includes(target),
  }));
  const drivers = Object.entries(DRIVERS).map(([from, owner]) => ({
    name: `the driver ${from}`,
    from,
    refused: room !== owner,
  }));
  const plants = [...targets, ...drivers].map(({ name, from, refused }, index) => ({
    ...{ name: `import ${name}`, path: `${room}/plant-${index}.ts`, refused },
    text: `import { thing } from '${from}';\n\nexport const planted = thing;\n`,
  }));
  const environment = {
    ...{ name: 'read the environment', path: `${room}/environment.ts`, refused: room !== ENVIRONMENT_ROOM },
    text: 'export const planted = process.env;\n',
  };
  return [...plants, environment];
}

function specifier(room: string, target: string): string {
  const path = relative(room, target);
  return path.startsWith('.') ? path : `./${path}`;
}

describe('the rooms of src', () => {
  const plants = Object.entries(ROOMS).map(([room, mayImport]) => ({
    room,
    plants: plantsOf(room, mayImport),
  }));
  let garden: string;
  let refused: ReadonlySet<string>;

  before(async () => {
    garden = await mkdtemp(join(tmpdir(), 'corkboard-layers-'));
    for (const name of ['biome.json', '.gitignore']) await copyFile(join(ROOT, name), join(garden, name));
    const everything = [
      ...plants.flatMap((entry) => entry.plants),
      ...CONSOLE_IMPORTS.map(([from]) => ({
        path: consolePlant(from),
        text: `import { thing } from '${from}';\n\nexport const planted = thing;\n`,
      })),
      ...SHARED_FILES.map((path) => ({
        path,
        text: "import { thing } from './dataset/thing.ts';\n\nexport const planted = thing;\n",
      })),
    ];
    for (const { path, text } of everything) {
      await mkdir(join(garden, dirname(path)), { recursive: true });
      await writeFile(join(garden, path), text);
    }
    refused = await lint(garden, '.');
  });
  after(() => rm(garden, { recursive: true }));

  for (const [from, isRefused] of CONSOLE_IMPORTS) {
    it(`the console ${isRefused ? 'may not' : 'may'} import ${from}`, () => {
      assert.equal(refused.has(consolePlant(from)), isRefused);
    });
  }

  for (const entry of plants) {
    for (const plant of entry.plants) {
      it(`${entry.room} may ${plant.refused ? 'not ' : ''}${plant.name}`, () => {
        assert.equal(refused.has(plant.path), plant.refused);
      });
    }
  }

  for (const path of SHARED_FILES) {
    it(`${path} may not import a room`, () => assert.ok(refused.has(path)));
  }

  it('keep to the directions', async () => {
    assert.deepEqual([...(await lint(ROOT, 'src'))], []);
    assert.deepEqual([...(await lint(ROOT, 'console'))], []);
    const rooms = new Set((await sourceFiles('src')).map((path) => dirname(path)));
    rooms.delete('src');
    assert.deepEqual([...rooms].sort(), Object.keys(ROOMS).sort(), 'every room has its row in the table');
  });
});

/** Paths that the rules about layers refuse, relative to `folder`. */
async function lint(folder: string, target: string): Promise<Set<string>> {
  const args = [BIOME, 'lint', '--reporter=json', '--max-diagnostics=none', target];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
  const report: { readonly diagnostics: readonly Diagnostic[] } = JSON.parse(output);
  const about = report.diagnostics.filter(({ category }) => LAYER_RULES.includes(basename(category)));
  return new Set(about.map(({ location }) => location.path));
}

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string };
}

describe('every source file', async () => {
  const tests = await sourceFiles('test');
  const product = (
    await Promise.all(
      ['src', 'upgrade', 'bench', 'conformance', 'console'].map((folder) => sourceFiles(folder)),
    )
  ).flat();
  const files = [...product, ...tests];

  it('is at most 400 lines long', async () => {
    assert.deepEqual(await filesWhere(files, (text) => text.split('\n').length - 1 > 400), []);
  });

  it('opens with a doc comment', async () => {
    assert.deepEqual(await filesWhere(product, (text) => !/^(#!.*\n)?\/\*\*\s/.test(text)), []);
  });

  it('has a name that says what is in it', () => {
    const vague = /^(utils?|helpers?|common|misc|.*-(utils?|helpers?|manager|service)|manager|service)$/;
    assert.deepEqual(
      files.filter((path) => path.split('/').some((part) => vague.test(basename(part, extname(part))))),
      [],
    );
  });

  it('names no folder of a machine', async () => {
    const more = await sourceFiles('docs', /\.(md|json|svg)$/);
    const path = /(?<![\w.~-])\/(?:home|root|Users|work)\/\w/;
    assert.deepEqual(await filesWhere([...files, ...more], (text) => path.test(text)), []);
  });
});

/** Paths relative to the root, without those of dependencies. */
async function sourceFiles(folder: string, wanted = /\.tsx?$/): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true });
  return entries
    .filter((path) => wanted.test(path) && !path.split('/').includes('node_modules'))
    .map((path) => `${folder}/${path}`);
}

async function filesWhere(paths: readonly string[], isWrong: (text: string) => boolean): Promise<string[]> {
  const checked = await Promise.all(
    paths.map(async (path) => ({ path, wrong: isWrong(await readFile(join(ROOT, path), 'utf8')) })),
  );
  return checked.filter(({ wrong }) => wrong).map(({ path }) => path);
}
