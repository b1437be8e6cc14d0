/**
 * The permitted imports between the modules of `src/`, and some rules for source files. The linter
 * enforces the imports. These tests create a file for every import from every module to every other
 * one, and check that the linter refuses exactly the forbidden ones.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, matchesGlob, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  DRIVERS,
  importsOf,
  isOwner,
  makeOverrides,
  ROOMS,
  roomsIn,
  WIRING_ROOM,
  withImports,
} from './layers.ts';

const ROOT = join(import.meta.dirname, '..');
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
const LAYER_RULES = ['noRestrictedImports', 'noProcessEnv', 'noImportCycles'];

/** Text in the first lines of generated files. */
const GENERATED = 'Made by test/client/generate.ts. */';
const ALL_ROOMS = [...Object.keys(ROOMS), WIRING_ROOM];
/** One module of each driver. */
const MODULES = ['@duckdb/node-api', 'pg', 'kysely', 'kysely/migration', '@aws-sdk/client-s3'];

function mayDrive(room: string, module: string): boolean {
  return Object.keys(DRIVERS).some((pattern) => matchesGlob(module, pattern) && isOwner(room, pattern));
}

/** Imports from a page of the console, and whether they are refused. */
const CONSOLE_IMPORTS: readonly (readonly [from: string, isRefused: boolean])[] = [
  ['../parts/card.tsx', false],
  ['react', false],
  ['../../../src/client/client.ts', false],
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

function plantsOf(room: string): readonly Plant[] {
  const mayImport = room === WIRING_ROOM ? ALL_ROOMS : importsOf(room);
  const targets = ALL_ROOMS.map((target) => ({
    name: target === room ? 'itself' : target,
    from: specifier(room, `${target}/thing.ts`),
    refused: target !== room && !mayImport.includes(target),
  }));
  const drivers = MODULES.map((from) => ({
    name: `the driver ${from}`,
    from,
    refused: !mayDrive(room, from),
  }));
  const plants = [...targets, ...drivers].map(({ name, from, refused }, index) => ({
    ...{ name: `import ${name}`, path: `${room}/plant-${index}.ts`, refused },
    text: `import { thing } from '${from}';\n\nexport const planted = thing;\n`,
  }));
  const environment = {
    ...{ name: 'read the environment', path: `${room}/environment.ts`, refused: room !== WIRING_ROOM },
    text: 'export const planted = process.env;\n',
  };
  return [...plants, environment];
}

function specifier(room: string, target: string): string {
  const path = relative(room, target);
  return path.startsWith('.') ? path : `./${path}`;
}

describe('the modules of src', () => {
  const plants = ALL_ROOMS.map((room) => ({ room, plants: plantsOf(room) }));
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
    it(`${entry.room} may import only the modules in its row`, () => {
      const wrong = entry.plants.filter((plant) => refused.has(plant.path) !== plant.refused);
      assert.deepEqual(
        wrong.map((plant) => `${plant.name}: ${plant.refused ? 'was not refused' : 'was refused'}`),
        [],
      );
    });
  }

  it('have no circular imports', () => {
    let left = Object.keys(ROOMS);
    for (let before = Number.POSITIVE_INFINITY; left.length < before; ) {
      before = left.length;
      left = left.filter((room) => importsOf(room).some((target) => left.includes(target)));
    }
    assert.deepEqual(left, []);
  });

  it('have linter rules and a table that are generated from their list', async () => {
    const again = 'Generate it again: node test/layers.ts';
    const rules = JSON.parse(await readFile(join(ROOT, 'biome.json'), 'utf8'));
    assert.deepEqual(rules.overrides, makeOverrides(), again);
    const table = await readFile(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    assert.equal(table, withImports(table), again);
    assert.deepEqual([...roomsIn(table)].sort(), [...ALL_ROOMS].sort());
  });

  it('have only permitted imports', async () => {
    assert.deepEqual([...(await lint(ROOT, 'src'))], []);
    assert.deepEqual([...(await lint(ROOT, 'console'))], []);
    const isWiring = (room: string) => `${room}/`.startsWith(`${WIRING_ROOM}/`);
    const folders = (await sourceFiles('src')).map((path) => dirname(path));
    const rooms = new Set(folders.map((room) => (isWiring(room) ? WIRING_ROOM : room)));
    assert.deepEqual([...rooms].sort(), [...ALL_ROOMS].sort(), 'every room has its row in the list');
  });
});

/** Paths relative to `folder` that the rules about layers refuse. */
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

  it('has at most 400 lines of code', async () => {
    const linesOfCode = (text: string) => text.match(/^(?!\s*(?:\/?\*|\/\/|$)).*/gm)?.length ?? 0;
    const isLong = (text: string) => linesOfCode(text) > 400 && !text.includes(GENERATED);
    assert.deepEqual(await filesWhere(files, isLong), []);
  });

  it('of the product declares types that no other file declares', async () => {
    // The client is a package of its own, with names for its users.
    const own = (await sourceFiles('src')).filter((path) => !path.startsWith('src/client/'));
    const texts = await Promise.all(own.map((path) => readFile(join(ROOT, path), 'utf8')));
    const names = texts.flatMap((text) =>
      [...text.matchAll(/^(?:export )?(?:abstract )?(?:interface|class|type) (\w+)/gm)].map(
        ([, name]) => name,
      ),
    );
    assert.ok(names.length > 100);
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    );
  });

  it('begins with a doc comment', async () => {
    assert.deepEqual(await filesWhere(product, (text) => !/^(#!.*\n)?\/\*\*\s/.test(text)), []);
  });

  it('has a name that describes its content', () => {
    const vague = /^(utils?|helpers?|common|misc|.*-(utils?|helpers?|manager|service)|manager|service)$/;
    assert.deepEqual(
      files.filter((path) => path.split('/').some((part) => vague.test(basename(part, extname(part))))),
      [],
    );
  });

  it('contains no absolute path of a development machine', async () => {
    const more = await sourceFiles('docs', /\.(md|json|svg)$/);
    const path = /(?<![\w.~-])\/(?:home|root|Users|work)\/\w/;
    assert.deepEqual(await filesWhere([...files, ...more], (text) => path.test(text)), []);
  });
});

/** Paths relative to the root, without dependencies. */
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
