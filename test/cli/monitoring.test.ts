/**
 * The Grafana dashboard and the alert rules in `deploy/`: they use metrics and labels that a server
 * has, in one process and in several, and the rules fire when they should. promtool complains about
 * no more metrics than docs/operations.md says.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { lacking, runs } from '../recipes/blocks.ts';
import { until } from '../server/stand.ts';
import { runJson, temporaryFolder } from './command.ts';
import { ask, serving, stop } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const ALERTS = readFileSync(join(DEPLOY, 'alerts.yaml'), 'utf8');
const DASHBOARD = JSON.parse(readFileSync(join(DEPLOY, 'grafana-dashboard.json'), 'utf8'));
const folder = temporaryFolder();
const data = join(folder, 'data');
const SCHOOL = ['--organization', 'school', '--data', data];

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource: { readonly uid: string };
  readonly gridPos: Readonly<Record<'h' | 'w' | 'x' | 'y', number>>;
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}
const PANELS: readonly Panel[] = DASHBOARD.panels;
const VARIABLES: readonly { readonly name: string; readonly type: string; readonly query: unknown }[] =
  DASHBOARD.templating.list;

/** The text of every expression: of each rule, panel and variable. */
const EXPRESSIONS = [
  ...[...ALERTS.matchAll(/expr: (?:>-\n)?((?:.*\n)(?: {10}.*\n)*)/g)].map(([, text = '']) => text),
  ...PANELS.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...VARIABLES.map(({ query }) => JSON.stringify(query)),
];
/** Added by Prometheus when it scrapes. */
const SCRAPED = ['job', 'instance'];

/** The labels of each metric in `/metrics`; a histogram has those of its series. */
function labelsByMetric(metrics: string): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const all = known.get(name) ?? new Set(SCRAPED);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) all.add(label);
    known.set(name, all);
  }
  return known;
}

/** The metrics and labels that an expression uses and the server does not have. */
function unknownIn(expression: string, known: ReturnType<typeof labelsByMetric>): readonly string[] {
  const used = [...expression.matchAll(/\b((?:corkboard|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)];
  const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, text = '']) => text.split(/, */));
  return used.flatMap(([, name = '', selector = '']) => {
    const labels = known.get(name);
    if (labels === undefined) return [name];
    const selected = [...selector.matchAll(/(\w+)[=!]/g)].map(([, label = '']) => label);
    return [...selected, ...grouped].filter((label) => !labels.has(label)).map((label) => `${name} ${label}`);
  });
}

/** Has the server count everything that it can count, and returns its metrics. */
async function metricsOf(origin: string, admin: string): Promise<string> {
  const key = await runJson(['keys', 'create', ...SCHOOL]);
  assert.equal((await ask(`${origin}/a/v1/boards`, key.key)).status, 200);
  const garbage = connect(Number(new URL(origin).port), '127.0.0.1');
  garbage.end('garbage\r\n\r\n');
  await once(garbage.resume(), 'close');
  const headers = { apikey: key.key, accept: 'text/event-stream' };
  const stream = await fetch(`${origin}/a/v1/events`, { headers });
  // Each process allows one stream, so that a further one is refused sooner or later.
  const further: Response[] = [];
  await until(async () => {
    further.push(await fetch(`${origin}/a/v1/events`, { headers: { ...headers, connection: 'close' } }));
    return further.at(-1)?.status === 429;
  });
  await runJson(['keys', 'revoke', key.id, ...SCHOOL]);
  for (const response of [stream, ...further]) await response.text().catch(() => undefined);
  const metrics = async () => (await ask(`${admin}/metrics`)).body;
  await until(async () => (await metrics()).includes('corkboard_cut_responses_total{reason="key-ended"}'));
  return await metrics();
}

/** The metrics of a server that has counted everything that it can count. */
async function metricsWith(t: TestContext, workers: string): Promise<string> {
  const limits = ['--limit', 'streams-per-key=1', '--admin-port', '0', '--workers', workers];
  const server = await serving(t, ['serve', '--data', data, ...limits], 'Admin');
  const { printed } = server;
  const { origin } = new URL(printed['Variant A'] ?? '');
  const metrics = await metricsOf(origin, printed['Admin'] ?? '');
  await stop(server, 'SIGTERM');
  return metrics;
}

const PROMTOOL = ['promtool', () => runs('promtool', '--version')] as const;

describe('the dashboard and the alerts', () => {
  before(() => runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...SCHOOL]));

  for (const workers of ['1', '2']) {
    it(`use metrics and labels that a server with ${workers} workers has`, async (t) => {
      const known = labelsByMetric(await metricsWith(t, workers));
      assert.ok(EXPRESSIONS.length > 25);
      assert.deepEqual(
        EXPRESSIONS.flatMap((expression) => unknownIn(expression, known)),
        [],
      );
      const shown = EXPRESSIONS.join('\n');
      const hidden = [...known.keys()].filter((name) => /^corkboard_/.test(name) && !shown.includes(name));
      assert.deepEqual(hidden, []);
    });
  }

  it('notice a metric or a label that does not exist', () => {
    const known = labelsByMetric('corkboard_in_use{limit="streams"} 1\n');
    assert.deepEqual(unknownIn('sum by (limit) (corkboard_in_use{job="x"})', known), []);
    assert.deepEqual(unknownIn('corkboard_in_use{reason="x"}', known), ['corkboard_in_use reason']);
    assert.deepEqual(unknownIn('corkboard_used', known), ['corkboard_used']);
  });
});

describe('/metrics', { skip: lacking(PROMTOOL) }, () => {
  before(() => runJson(['import', writeSmallBundle(join(folder, 'bundle')), ...SCHOOL]));

  for (const workers of ['1', '2']) {
    it(`of ${workers} workers gives promtool only the complaints that docs/operations.md has`, async (t) => {
      const operations = readFileSync(join(DEPLOY, '../docs/operations.md'), 'utf8');
      const [, list = ''] =
        /`promtool check metrics` complains\s[\s\S]*?\n\n((?:- .*\n)+)/.exec(operations) ?? [];
      const documented = [...list.matchAll(/^- `(\w+)`: (.*)$/gm)].map(([, name, text]) => `${name} ${text}`);
      assert.ok(documented.length > 0);
      const input = await metricsWith(t, workers);
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
        input,
        encoding: 'utf8',
      });
      assert.deepEqual([status, stdout], [3, '']);
      assert.deepEqual(stderr.trim().split('\n').sort(), documented);
    });
  }
});

describe('deploy/grafana-dashboard.json', () => {
  it('has what Grafana requires, and takes its data source from a variable', () => {
    assert.match(DASHBOARD.uid, /^[\w-]{1,40}$/);
    assert.equal(typeof DASHBOARD.title, 'string');
    assert.ok(Number.isInteger(DASHBOARD.schemaVersion));
    assert.deepEqual(
      VARIABLES.map(({ name, type }) => `${name} ${type}`),
      ['datasource datasource', 'job query', 'instance query'],
    );
    assert.equal(new Set(PANELS.map(({ id }) => id)).size, PANELS.length);
    assert.equal(new Set(PANELS.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`)).size, PANELS.length);
    for (const { type, title, datasource, gridPos, targets } of PANELS) {
      assert.ok(['timeseries', 'stat'].includes(type) && title !== '');
      assert.equal(datasource.uid, '$' + '{datasource}');
      assert.ok(gridPos.x + gridPos.w <= 24 && gridPos.h > 0);
      assert.ok(targets.length > 0 && targets.every(({ refId, expr }) => refId !== '' && expr !== ''));
    }
  });
});

describe('deploy/alerts.yaml', () => {
  it('has a rule for every alert that docs/operations.md recommends', () => {
    const operations = readFileSync(join(DEPLOY, '../docs/operations.md'), 'utf8');
    const [, list = ''] =
      /\*\*Recommended alerts\*\*[\s\S]*?\n\n((?:- .*\n(?: {2}.*\n)*)+)/.exec(operations) ?? [];
    const documented = [...list.matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name);
    const rules = [...ALERTS.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name);
    assert.ok(rules.length >= 5);
    assert.deepEqual(documented, rules);
  });

  it('fires as its unit tests say', {
    skip: lacking(PROMTOOL),
  }, () => {
    for (const words of [
      ['check', 'rules', 'alerts.yaml'],
      ['test', 'rules', 'alerts.test.yaml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', words, { cwd: DEPLOY, encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    }
  });
});
