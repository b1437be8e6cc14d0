/**
 * The same totals everywhere: the file of the demo, the points routes, the insights as JSON and
 * CSV, the client as the console opens it, the Python package, SQL on copies, and the command line.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ClientA, InsightsClient } from '../../src/client/client.ts';
import { run, runJson, temporaryFolder } from '../cli/command.ts';
import { serving } from '../cli/serving.ts';
import { lacking, runBlock, runs } from '../recipes/blocks.ts';
import { DATABASES } from '../sync/copies.ts';
import {
  ALL_TOTALS,
  differences,
  EVENT_TOTALS,
  only,
  type Range,
  type Totals,
  totalsOfClient,
  totalsOfCopy,
  totalsOfCsv,
  totalsOfFile,
  totalsOfJson,
  totalsOfPointsMaps,
  type View,
} from './totals.ts';

const ROOT = join(import.meta.dirname, '../..');
const PYTHON = process.env['CORKBOARD_PYTHON'] ?? 'python3';
const needsPython = lacking(['Python', () => runs(PYTHON, '--version')]);

/** Boards with rules of their own for points, and one without. */
const BOARDS = ['53', '58', '62', '4'];
/**
 * More than half a year, whose first instant has events. In the form of timestamps, so that SQLite
 * can compare them as texts.
 */
const RANGE: Range = { start: '2018-03-12T00:00:00.000+00:00', end: '2018-11-01T00:00:00.000+00:00' };

const folder = temporaryFolder();
const data = ['--data', join(folder, 'data')];
const ends: (() => void)[] = [];
const expected = new Map<View, Totals>();
let base = '';
let views: readonly View[] = [];

before(async () => {
  const demo = await serving({ after: (end) => ends.push(end) }, ['demo', ...data], 'Key');
  base = (demo.printed['Variant A'] ?? '').replace(/\/a$/, '');
  const full = demo.printed['Key'] ?? '';
  const words = ['keys', 'create', ...data, '--organization', 'demo', '--boards', BOARDS.join(',')];
  const { key: scoped } = await runJson(words);
  views = [
    { name: 'everything', key: full, range: {} },
    { name: 'a range', key: full, range: RANGE },
    { name: 'a scoped key', key: scoped, boards: BOARDS, range: {} },
    { name: 'a range of a scoped key', key: scoped, boards: BOARDS, range: RANGE },
  ];
  for (const view of views) {
    expected.set(view, new Map([...totalsOfFile(view), ...(await totalsOfPointsMaps(base, view))]));
  }
});
after(() => ends.forEach((end) => void end()));

/** Compares the totals of some kinds, for each view. */
async function check(
  kinds: readonly string[],
  read: (view: View, at: number) => Promise<Totals>,
  checked = views,
): Promise<void> {
  for (const [at, view] of checked.entries()) {
    const found = differences(await read(view, at), only(expected.get(view)!, kinds));
    assert.deepEqual(found, [], view.name);
  }
}

describe('the totals that are compared', () => {
  it('are many, of each kind, and different for each key and range', () => {
    const all = [...expected.values()];
    assert.equal(all.length, 4);
    for (const kind of ALL_TOTALS) {
      const texts = all.map((totals) => JSON.stringify([...only(totals, [kind])]));
      assert.equal(new Set(texts).size, all.length, kind);
      for (const totals of all) assert.ok(only(totals, [kind]).size >= 4, kind);
    }
    // More rows than rankings and pages have without a parameter.
    const [whole = new Map()] = all;
    assert.deepEqual(
      ['board', 'user', 'points'].map((kind) => only(whole, [kind]).size),
      [64, 1936, 3889],
    );
    for (const totals of all) {
      const points = [...only(totals, ['points']).values()];
      assert.ok(Math.max(...points) > 65, 'more than in a week');
    }
  });

  it('differ if one is missing, added or changed', () => {
    for (const totals of expected.values()) {
      for (const kind of ALL_TOTALS) {
        const [name = ''] = only(totals, [kind]).keys();
        const changed = new Map(totals).set(name, totals.get(name)! + 1);
        const missing = new Map([...totals].filter(([other]) => other !== name));
        const added = new Map(totals).set(`${kind} x`, 0);
        assert.deepEqual(
          [changed, missing, added, new Map(totals)].map((one) => differences(one, totals).length),
          [1, 1, 1, 0],
        );
      }
    }
  });
});

describe('the same totals are', () => {
  it('in the insights as JSON', () => check(ALL_TOTALS, (view) => totalsOfJson(base, view)));

  it('in the insights as CSV', () => check(ALL_TOTALS, (view) => totalsOfCsv(base, view)));

  it('in what the client of the console reads', async () => {
    using page = new DisposableStack();
    const openApi = await openConsole(page);
    await check(ALL_TOTALS, (view) => totalsOfClient(openApi(view.key), view));
  });

  for (const kind of DATABASES) {
    it(`in the views of a copy in ${kind.name}`, async () => {
      const copies = new Map<string, Awaited<ReturnType<typeof kind.make>>>();
      for (const key of new Set(views.map((view) => view.key))) {
        const copy = await kind.make(folder);
        const environment = { CORKBOARD_SYNC_KEY: key };
        const { code, stderr } = await run(['sync', `${base}/a`, '--to', copy.address], { environment });
        assert.equal(code, 0, stderr);
        copies.set(key, copy);
      }
      await check(EVENT_TOTALS, (view) => totalsOfCopy(copies.get(view.key)!, view));
    });
  }

  it('in the lists, the insights and the copy of the Python package', { skip: needsPython }, async () => {
    const ways: Record<string, Record<string, number>>[] = [];
    for (const [at, view] of views.entries()) {
      const variables = {
        ...{ PYTHONPATH: join(ROOT, 'python'), CORKBOARD_URL: `${base}/a`, CORKBOARD_KEY: view.key },
        CORKBOARD_RANGE: JSON.stringify(view.range),
      };
      const script = join(ROOT, 'python/tests/totals.py');
      const { code, stdout, stderr } = await runBlock([PYTHON, script, `${at}.sqlite`], folder, variables);
      assert.equal(code, 0, stderr);
      ways.push(JSON.parse(stdout));
    }
    const totalsOf = (way: string) => async (_: View, at: number) =>
      new Map(Object.entries(ways[at]?.[way] ?? {}));
    await check(ALL_TOTALS, totalsOf('lists'));
    await check(ALL_TOTALS, totalsOf('insights'));
    await check(EVENT_TOTALS, totalsOf('copy'));
  });

  it('in the files of "corkboard points export"', async () => {
    const [whole, range] = views;
    for (const view of [whole!, range!]) {
      const users = new Map([...expected.get(view)!].filter(([name]) => name.startsWith('points 53 ')));
      const words = ['points', 'export', ...data, '--board', '53', '--value', 'points'];
      const bounds = Object.entries(view.range).flatMap(([name, bound]) => [`--${name}`, bound]);
      const { stdout, code, stderr } = await run([...words, ...bounds]);
      assert.equal(code, 0, stderr);
      const rows = stdout.trim().split(/\r?\n/).slice(1);
      const found = rows.map((row) => row.slice(1, -1).split('","'));
      const totals = new Map(found.map((row) => [`points 53 ${row[0]}`, Number(row[4])] as const));
      assert.deepEqual(differences(totals, users), []);
    }
  });

  it('the sums of what "corkboard points explain" lists', async () => {
    const [whole, range] = views;
    const pairs = explainedPairs(expected.get(whole!)!);
    const found = new Map<View, Map<string, number>>([whole!, range!].map((view) => [view, new Map()]));
    for (const pair of pairs) {
      const [board = '', user = ''] = pair.split(' ');
      const { lines, standing } = await runJson([
        'points',
        'explain',
        ...data,
        '--board',
        board,
        '--user',
        user,
      ]);
      for (const [view, totals] of found) totals.set(`points ${pair}`, sumWithin(lines, view.range));
      found.get(whole!)?.set(`score ${pair}`, standing.participationScore);
      assert.equal(standing.totalPoints, found.get(whole!)?.get(`points ${pair}`));
    }
    for (const [view, totals] of found) {
      const all = [...expected.get(view)!].filter(([name]) => totals.has(name));
      assert.equal(all.length, totals.size, view.name);
      assert.deepEqual(differences(totals, new Map(all)), [], view.name);
      assert.ok(new Set(totals.values()).size > 4, 'the totals are different');
    }
  });
});

interface ExplainedAward {
  readonly timestamp: string;
  readonly points: number;
  readonly counted: boolean;
}

function sumWithin(lines: readonly ExplainedAward[], { start, end }: Range): number {
  const isWithin = ({ timestamp }: ExplainedAward) =>
    (start === undefined || Date.parse(timestamp) >= Date.parse(start)) &&
    (end === undefined || Date.parse(timestamp) < Date.parse(end));
  return lines.reduce((sum, line) => sum + (line.counted && isWithin(line) ? line.points : 0), 0);
}

/** Board and user: on each of the boards the most points, the fewest, and two in between. */
function explainedPairs(totals: Totals): readonly string[] {
  return BOARDS.flatMap((board) => {
    const ranked = [...totals]
      .filter(([name]) => name.startsWith(`points ${board} `))
      .toSorted(([, one], [, other]) => other - one)
      .map(([name]) => name.slice('points '.length));
    return [0, 1, 5, ranked.length - 1].map((at) => ranked[at]!);
  });
}

type OpenApi = (key: string) => { readonly insights: InsightsClient; readonly a: ClientA };

/** The API client of the console, which takes its address and its key from the tab. */
async function openConsole(page: DisposableStack): Promise<OpenApi> {
  const tab = { location: { origin: base }, sessionStorage: { getItem: () => null } };
  for (const [name, value] of Object.entries(tab)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    page.defer(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, before);
    });
  }
  // By its address, because the types of a browser are not those of the tests.
  const { openApi } = await import(pathToFileURL(join(ROOT, 'console/src/api/client.ts')).href);
  return openApi;
}
