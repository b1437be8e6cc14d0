/**
 * The Airbyte manifest of the Python folder: its requests, sent by Airbyte's rules for pages and
 * cursors, give the records of the server.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type BundleRecords, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { lacking, PYTHONS, runBlock, runs } from '../recipes/blocks.ts';

const FOLDER = join(import.meta.dirname, '../../python');
const withModules = (names: string) => PYTHONS.find((python) => runs(python, '-c', `import ${names}`));
const PYTHON = withModules('yaml, jinja2') ?? 'python3';
const PYTHON_OF_SCHEMA = withModules('airbyte_cdk, jsonschema, yaml');
const skip = lacking(['PyYAML or Jinja2 for Python', () => withModules('yaml, jinja2') !== undefined]);
const skipSchema = lacking(['airbyte-cdk for Python', () => PYTHON_OF_SCHEMA !== undefined]);

const ORGANIZATION = 'school';
const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2018, 0, 1);
/** More than two pages, one an hour; the last one is at hour 2,499. */
const EVENTS = Array.from({ length: 2_500 }, (_, hour) =>
  eventAt(BigInt(hour + 1), FIRST_MS + hour * 3_600_000),
);

function eventAt(id: bigint, timeMs: number) {
  const timestamp = new Date(timeMs).toISOString();
  return { id, type: 'board', action: 'visited', owner_id: 1n, actor_id: 1n, board_id: 7n, timestamp };
}

interface EventRecord {
  readonly sync_id: string;
  readonly board: { readonly title: string };
}

describe('the Airbyte manifest', { skip }, () => {
  let deployment: Deployment;
  let key: string;
  before(async () => {
    deployment = await openDeployment();
    await deployment.load(ORGANIZATION, {
      ...EMPTY_BUNDLE,
      users: [{ id: 1n, email: 'ada@example.org', name: 'Ada Lovelace' }],
      boards: [{ id: 7n, title: 'Seven' }],
      events: EVENTS,
    });
    key = await deployment.makeKey(ORGANIZATION);
  });
  after(() => deployment.close());

  async function plain<T>(path: string, variant = 'a'): Promise<readonly T[]> {
    const { text } = await get(`${deployment.url}/${variant}/v1/${path}`, key);
    return JSON.parse(text);
  }

  /** Runs a sync of a stream, as Airbyte does with the state of the last one. */
  async function sync<T>(stream: string, state?: string, variant = 'a') {
    const words = [stream, ...(state === undefined ? [] : [state])];
    const command = [PYTHON, join(FOLDER, 'tests/airbyte_read.py'), ...words] as const;
    const variables = { CORKBOARD_URL: `${deployment.url}/${variant}`, CORKBOARD_KEY: key };
    const { code, stdout, stderr } = await runBlock(command, FOLDER, variables);
    assert.equal(code, 0, stderr);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const newState: string = lines.pop();
    return { records: lines as readonly T[], state: newState };
  }

  async function publish(bundle: BundleRecords): Promise<void> {
    const etag = async () => (await get(`${deployment.url}/a/v1/events`, key)).headers.get('etag');
    const old = await etag();
    await deployment.load(ORGANIZATION, bundle);
    while ((await etag()) === old) await delay(20);
  }

  it('reads all pages of each list, in both variants', async () => {
    for (const variant of ['a', 'b']) {
      for (const [stream, path] of [
        ['boards', 'boards'],
        ['users', 'users'],
        ['events', 'events?since=start'],
      ] as const) {
        const { records } = await sync(stream, undefined, variant);
        assert.deepEqual(records, await plain(path, variant), stream);
      }
    }
  });

  it('adds new, late and corrected events within the lookback to those of the last sync', async () => {
    const first = await sync<EventRecord>('events');
    assert.equal(first.state, '2018-04-15T03:00:00Z');
    const table = new Map(first.records.map((event) => [event.sync_id, event]));
    await publish({
      ...EMPTY_BUNDLE,
      events: [eventAt(9_001n, FIRST_MS + 200 * DAY_MS), eventAt(9_002n, FIRST_MS + 80 * DAY_MS)],
    });
    const second = await sync<EventRecord>('events', first.state);
    assert.ok(second.records.length < 800, 'only the lookback is read again');
    for (const event of second.records) table.set(event.sync_id, event);
    const byId = (one: EventRecord, other: EventRecord) => one.sync_id.localeCompare(other.sync_id);
    const expected = await plain<EventRecord>('events?since=start');
    assert.deepEqual([...table.values()].toSorted(byId), expected.toSorted(byId));
    await publish({ ...EMPTY_BUNDLE, boards: [{ id: 7n, title: 'Renamed' }] });
    const third = await sync<EventRecord>('events', second.state);
    assert.deepEqual(
      third.records.map(({ board }) => board.title),
      ['Renamed'],
    );
  });

  it('leaves out an event with a future time, which would stop all later syncs', async () => {
    const [future, recent] = [eventAt(9_003n, Date.UTC(2200, 0, 1)), eventAt(9_004n, Date.now() - DAY_MS)];
    await publish({ ...EMPTY_BUNDLE, events: [future] });
    const first = await sync<EventRecord>('events');
    assert.equal(first.records.length, (await plain('events')).length - 1);
    await publish({ ...EMPTY_BUNDLE, events: [recent] });
    const second = await sync<EventRecord>('events', first.state);
    assert.equal(second.state, `${recent.timestamp.slice(0, 19)}Z`);
    await publish({ ...EMPTY_BUNDLE, boards: [{ id: 7n, title: 'Again renamed' }] });
    const third = await sync<EventRecord>('events', second.state);
    assert.deepEqual(
      third.records.map(({ board }) => board.title),
      ['Again renamed'],
    );
  });

  it('asks for the key as a secret, and its defaults are those of the document', () => {
    const manifest = readFileSync(join(FOLDER, 'airbyte/manifest.yaml'), 'utf8');
    assert.match(manifest, /api_key:\n(?: {8}.*\n)*? {8}airbyte_secret: true/);
    const days = /lookback_days:\n(?: {8}.*\n)*? {8}default: (\d+)/.exec(manifest)?.[1];
    assert.match(manifest, new RegExp(`config.get\\('lookback_days'\\) or ${days} `));
    assert.match(readFileSync(join(FOLDER, 'README.md'), 'utf8'), new RegExp(`\\b${days} days`));
  });

  it('is valid by the schema of Airbyte', { skip: skipSchema }, () => {
    assert.ok(runs(PYTHON_OF_SCHEMA ?? '', join(FOLDER, 'tests/airbyte_schema.py')));
  });
});
