/** docs/operations.md is correct about metrics, fixed limits, options and environment variables. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { allCommands } from './cli/command-line-document.ts';
import { brokenLinks } from './document-links.ts';
import { openStand } from './server/stand.ts';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const OPERATIONS = textOf('docs/operations.md');

/** The rows of the tables below a heading, as cells. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, rest = ''] = OPERATIONS.split(`\n${heading}\n`);
  const [section = ''] = rest.split(/\n##/);
  return [...section.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
}

/** The number of a constant in a file, in bytes, milliseconds, megabytes or pieces. */
function constantOf(path: string, name: string): number {
  const [, text = ''] = new RegExp(`const ${name} = ([\\d_e *]+);`).exec(textOf(path)) ?? [];
  assert.notEqual(text, '', `${path} has no ${name}`);
  return text
    .split('*')
    .map((factor) => Number(factor.replaceAll('_', '')))
    .reduce((product, factor) => product * factor, 1);
}

const kibibytes = (bytes: number) => `${bytes / 1_024} KiB`;
const mebibytes = (bytes: number) => `${bytes / 1_024 ** 2} MiB`;
const seconds = (milliseconds: number) => `${milliseconds / 1_000} s`;
const count = (number: number) => number.toLocaleString('en');
const megabytes = (bytes: number) => `${count(bytes / 1e6)} MB`;
const page = (most: number) => `1 to ${count(most)}`;

/** Each fixed limit: its row, and the constant that it is. */
const FIXED = [
  ['URL', 'src/server/http/target.ts', 'LONGEST_TARGET_BYTES', kibibytes],
  ['headers together', 'src/server/framework.ts', 'LARGEST_HEADERS_BYTES', kibibytes],
  ['time for headers to arrive', 'src/server/framework.ts', 'HEADERS_TIMEOUT_MS', seconds],
  [
    'time for the client of a live stream to take what was sent',
    'src/server/responses/live.ts',
    'STALLED_MS',
    seconds,
  ],
  ['idle connection', 'src/server/framework.ts', 'KEEP_ALIVE_MS', seconds],
  ['`limit` of a page', 'src/server/request/parameters.ts', 'LARGEST_LIMIT', page],
  ['periods of an insight', 'src/insights/periods.ts', 'MOST_PERIODS', count],
  ['values of all activity series together', 'src/insights/series.ts', 'MOST_FIGURES', count],
  ['size of activity as CSV', 'src/server/routes/insight-responses.ts', 'MOST_ACTIVITY_BYTES', mebibytes],
  ['record of an import', 'src/ingest/input/lines.ts', 'LONGEST_RECORD_BYTES', mebibytes],
  [
    'DuckDB memory of an open version, in each worker',
    'src/store/version/read/version-dataset.ts',
    'MEMORY_BYTES',
    megabytes,
  ],
  ['DuckDB memory of an import', 'src/store/build-memory.ts', 'USUAL_BYTES', megabytes],
] as const;

describe('docs/operations.md', () => {
  it('lists exactly the metrics of the server', async () => {
    const stand = await openStand();
    const text = await (await fetch(`${stand.url}/metrics`)).text();
    await stand.close();
    const exported = [...text.matchAll(/^# TYPE (corkboard_\w+) /gm)].map(([, name = '']) => name);
    const listed = rowsBelow('## Metrics').flatMap(([names = '']) =>
      [...names.matchAll(/`(corkboard_\w+)`/g)].map(([, name = '']) => name),
    );
    assert.deepEqual([...listed].sort(), exported.sort());
  });

  it('has the values of the fixed limits', () => {
    const rows = rowsBelow('## Limits').slice(1);
    assert.deepEqual(
      rows.filter(([what = '']) => !/^-+/.test(what)).map(([what, limit]) => [what, limit]),
      FIXED.map(([what, path, name, render]) => [what, render(constantOf(path, name))]),
    );
  });

  it('names options of the commands in which it uses them', () => {
    const commands = new Map(allCommands().map(([name, command]) => [name, command]));
    const known = new Set([...commands.values()].flatMap(({ options }) => options.map(({ long }) => long)));
    const lines = OPERATIONS.split('\n').filter((line) => /^ {4}(sudo .*)?corkboard /.test(line));
    assert.ok(lines.length > 10);
    const quoted = [
      ...OPERATIONS.matchAll(/`(?:corkboard )?(?:serve|keys \w+|import|forget|pull|migrate)( [^`]*)`/g),
    ];
    const named = [...lines, ...quoted.map(([text]) => text)].flatMap(
      (text) => text.match(/ (--[a-z-]+)/g) ?? [],
    );
    assert.ok(named.length > 20, `${named.length}`);
    assert.deepEqual(
      named.map((option) => option.trim()).filter((option) => !known.has(option)),
      [],
    );
  });

  it('names environment variables that the commands, the unit or the compose file read', () => {
    const sources = [
      ...globSync('src/cli/**/*.ts', { cwd: ROOT }),
      'compose.yaml',
      'deploy/corkboard.service',
    ];
    const read = sources.map(textOf).join('\n');
    const named = new Set(OPERATIONS.match(/\bCORKBOARD_[A-Z_]+\b/g));
    assert.ok(named.size > 4);
    assert.deepEqual(
      [...named].filter((name) => !read.includes(name)),
      [],
    );
  });

  it('links to existing files and headings', () => {
    assert.deepEqual(brokenLinks('docs/operations.md'), []);
  });
});
