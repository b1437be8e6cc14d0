/**
 * Clients generated from the OpenAPI documents, in three languages: generated and compiled for
 * Variant A and the insights. A program in `clients/` then reads the demo organization through the
 * client of Variant A, and must find what plain requests find.
 */
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { lacking, PYTHONS, runs } from '../test/recipes/blocks.ts';
import type { Target } from './product.ts';
import type { Report } from './report.ts';
import { programOf, runProgram } from './tool.ts';

const PAGE = 5_000;

/** The programs in `clients/` print this object as JSON. */
interface Found {
  readonly events: number;
  /** Events with a pin. */
  readonly pins: number;
  readonly actors: number;
  readonly pages: number;
  readonly boards: number;
  /** The sum of all points on one board. */
  readonly points: number;
  /** The code of a refusal. */
  readonly code: string;
}

interface Generator {
  readonly title: string;
  /** Commands that generate and compile a client of each document, in the working folder. */
  generate(targets: readonly Target[]): readonly (readonly string[])[];
  /** The program in `clients/`, and its name in the working folder. */
  readonly program: readonly [from: string, to: string];
  /** Commands that compile and run the program; the last one prints what it found. */
  readonly run: readonly (readonly string[])[];
  /** What must be installed. */
  readonly needs?: readonly [what: string, isThere: () => boolean];
}

const NODE = process.execPath;
const TSC = [NODE, programOf('tsc'), '--project'];

const hasDateutil = (python: string) => runs(python, '-c', 'import dateutil');

function generators(): readonly Generator[] {
  const python = PYTHONS.find(hasDateutil) ?? PYTHONS[0];
  return [
    {
      title: 'openapi-typescript and openapi-fetch (TypeScript)',
      generate: (targets) =>
        targets.map(({ documentPath, name }) => [
          ...[NODE, programOf('openapi-typescript'), documentPath, '--output', `${typed(name)}.ts`],
        ]),
      program: ['openapi-fetch.ts', 'openapi-fetch.ts'],
      run: [
        [...TSC, '.'],
        [NODE, 'built/openapi-fetch.js'],
      ],
    },
    {
      title: '@hey-api/openapi-ts (TypeScript)',
      generate: (targets) =>
        targets.map(({ documentPath, name }) => [
          ...[NODE, programOf('openapi-ts'), '--input', documentPath, '--output', generated(name)],
          '--no-log-file',
        ]),
      program: ['hey-api.ts', 'hey-api.ts'],
      run: [
        [...TSC, '.'],
        [NODE, 'built/hey-api.js'],
      ],
    },
    {
      title: 'quicktype (Python)',
      generate: (targets) =>
        targets.flatMap(({ documentPath, name }) => [
          quicktype(documentPath, '--python-version', '3.7', '--out', pythonModule(name)),
          [python, '-m', 'py_compile', pythonModule(name)],
        ]),
      program: ['quicktype.py', 'read.py'],
      run: [[python, 'read.py']],
      needs: ['Python with dateutil', () => hasDateutil(python)],
    },
    {
      title: 'quicktype (Go)',
      generate: (targets) =>
        targets.flatMap(({ documentPath, name }) => [
          quicktype(documentPath, '--package', 'main', '--out', `${name}.go`),
          ['go', 'vet', `${name}.go`],
        ]),
      program: ['quicktype.go', 'read.go'],
      run: [['go', 'run', 'read.go', 'a.go']],
      needs: ['Go', () => runs('go', 'version')],
    },
  ];
}

/** The programs use Variant A under the name of the generator. */
const typed = (name: string) => (name === 'a' ? 'openapi-typescript' : name);
const generated = (name: string) => (name === 'a' ? 'hey-api-client' : name);
const pythonModule = (name: string) => (name === 'a' ? 'corkboard.py' : `${name}.py`);

function quicktype(documentPath: string, ...options: readonly string[]): readonly string[] {
  const schemas = `${documentPath}#/components/schemas/`;
  return [NODE, programOf('quicktype'), '--src-lang', 'schema', schemas, ...options];
}

const TYPESCRIPT_PROJECT = {
  compilerOptions: {
    ...{ target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: ['node'], strict: true },
    ...{ module: 'commonjs', moduleResolution: 'node10', skipLibCheck: true, outDir: 'built' },
  },
  include: ['*.ts', '*/*.ts'],
};

export async function checkGeneratedClients(
  targets: readonly Target[],
  folder: string,
  report: Report,
): Promise<void> {
  // Everything in the document of Variant B is in one of the others too.
  const used = targets.filter(({ name }) => name !== 'b');
  const target = used.find(({ name }) => name === 'a');
  if (target === undefined) throw new Error('Variant A is missing.');
  const expected = await readPlainly(target);
  const environment = {
    ...{ CORKBOARD_URL: target.baseUrl, CORKBOARD_KEY: target.key },
    ...{ CORKBOARD_BOARD: boardOf(target), GO111MODULE: 'off' },
  };
  for (const [index, generator] of generators().entries()) {
    const { title, needs, generate, run } = generator;
    const reason = needs !== undefined && lacking(needs);
    if (reason !== false) {
      report.skip(title, reason);
      continue;
    }
    const place = join(folder, `client-${index}`);
    await prepare(place, generator);
    const commands = [...generate(used), ...run];
    const output = await outputOf(commands, { title, place, environment, report });
    if (output === undefined) continue;
    report.pass(`Generated client, ${title}: compiles, for Variant A and the insights`);
    const line = `Generated client, ${title}: reads what plain requests read`;
    if (isJsonOf(expected, output)) report.pass(line);
    else report.fail(line, `${output} instead of ${JSON.stringify(expected)}`);
  }
}

async function prepare(place: string, { program: [from, to] }: Generator): Promise<void> {
  await mkdir(place);
  await symlink(join(import.meta.dirname, 'node_modules'), join(place, 'node_modules'));
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify(TYPESCRIPT_PROJECT));
  await writeFile(join(place, 'package.json'), '{ "type": "commonjs" }');
  await copyFile(join(import.meta.dirname, 'clients', from), join(place, to));
}

interface Surroundings {
  readonly title: string;
  readonly place: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly report: Report;
}

/** Runs commands until one fails, which is reported. Returns the output of the last one. */
async function outputOf(
  commands: readonly (readonly string[])[],
  { title, place, environment, report }: Surroundings,
): Promise<string | undefined> {
  let last = '';
  for (const command of commands) {
    const { code, output } = await runProgram(command, place, environment);
    if (code !== 0) {
      report.fail(`Generated client, ${title}: ${command.join(' ')}`, output);
      return undefined;
    }
    last = output;
  }
  return last;
}

function isJsonOf(expected: Found, text: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), expected);
  } catch {
    return false;
  }
}

function boardOf({ pathValues }: Target): string {
  return pathValues['boardId'] ?? '';
}

/** Without any client: what the programs must find. */
async function readPlainly(target: Target): Promise<Found> {
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(target.baseUrl + path, { headers: { apikey: target.key } });
    return JSON.parse(await response.text());
  };
  const events =
    await read<{ readonly pin?: object; readonly actor: { readonly id: number } }[]>('/v1/events');
  const boards = await read<unknown[]>('/v1/boards');
  const points = await read<Record<string, { readonly total_points: number }>>(
    `/v1/board/${boardOf(target)}/points`,
  );
  const { code } = await read<{ readonly code: string }>('/v1/events?limit=0');
  return {
    events: events.length,
    pins: events.filter(({ pin }) => pin !== undefined).length,
    actors: new Set(events.map(({ actor }) => actor.id)).size,
    pages: Math.ceil(events.length / PAGE),
    boards: boards.length,
    points: Object.values(points).reduce((sum, { total_points }) => sum + total_points, 0),
    code,
  };
}
