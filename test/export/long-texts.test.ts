/**
 * Texts of 400 MB in pins, and as much in events, which is more than DuckDB can sort with the
 * memory that it gets: they are imported, sorted again, served, exported, changed and rolled back.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { runJson, temporaryFolder } from '../cli/command.ts';
import { get } from '../model/client.ts';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import '../without-coverage.ts';

const COUNT = 6_500;
const TEXT_LENGTH = 64_000;
/** Events that come later and happened earlier, enough for the table to be sorted again. */
const EARLIER = 1_000;
const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

const letters = randomBytes(TEXT_LENGTH).toString('hex');

/** A different text for each number. */
function textOf(number: number): string {
  return `${number} ${letters.slice(number, number + TEXT_LENGTH)}`;
}

const ids = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

async function writeLines(folder: string, name: string, lines: Iterable<object>): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using file = await open(join(folder, name), 'w');
  for (const line of lines) await file.write(`${JSON.stringify(line)}\n`);
}

function* events(numbers: readonly number[], minuteOf: (number: number) => number) {
  for (const id of numbers) {
    const timestamp = new Date(START_MS + minuteOf(id) * MINUTE_MS).toISOString();
    const fields = { type: 'pin', action: 'commented', owner_id: 1, actor_id: 1, board_id: 1 };
    yield { id, ...fields, pin_id: (id % COUNT) + 1, timestamp, body: textOf(id) };
  }
}

describe('an organization with long texts', () => {
  const folder = temporaryFolder();
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
    const first = join(folder, 'first');
    await writeLines(first, 'users.ndjson', [{ id: 1, email: 'a@harbor.example', name: 'Ada' }]);
    await writeLines(first, 'boards.ndjson', [{ id: 1, title: 'Texts' }]);
    const pins = ids(COUNT).map((id) => ({ id, board_id: 1, owner_id: 1, body: textOf(id) }));
    await writeLines(first, 'pins.ndjson', pins);
    await writeLines(
      first,
      'events.ndjson',
      events(ids(COUNT), (id) => id),
    );
    await loadFiles(deployment.store, 'texts', [first]);
    const second = join(folder, 'second');
    const numbers = ids(COUNT + EARLIER).slice(COUNT);
    await writeLines(
      second,
      'events.ndjson',
      events(numbers, (id) => -id),
    );
    await loadFiles(deployment.store, 'texts', [second]);
  });
  after(() => deployment.close());

  it('is served', async () => {
    const key = await deployment.makeKey('texts');
    const { status, text } = await get(`${deployment.url}/b/v1/events?limit=2`, key);
    assert.equal(status, 200, text);
    const [newest] = JSON.parse(text);
    assert.equal(newest.pin.body, textOf(newest.pin.id));
  });

  it('is exported with all texts, in the order of time', async () => {
    const target = join(folder, 'exported');
    const data = join(deployment.folder, 'data');
    await runJson(['export', '--organization', 'texts', target, '--data', data]);
    const pins = await digestsIn(join(target, 'pins.ndjson'));
    assert.deepEqual(pins, ids(COUNT).map(digestOf));
    const exported = await digestsIn(join(target, 'events.ndjson'));
    const earlier = ids(COUNT + EARLIER).slice(COUNT);
    assert.deepEqual(exported, [...earlier.toReversed(), ...ids(COUNT)].map(digestOf));
  });

  it('is changed as a whole, and rolled back', async () => {
    const third = join(folder, 'third');
    const pins = ids(COUNT).map((id) => ({ id, body: textOf(id + 1) }));
    await writeLines(third, 'pins.ndjson', pins);
    const { changes } = await loadFiles(deployment.store, 'texts', [third]);
    assert.deepEqual(changes?.pins, { added: 0, changed: COUNT, unchanged: 0, deleted: 0 });
    const rolledBack = await runJson([
      ...['rollback', '--organization', 'texts', '--data', join(deployment.folder, 'data')],
    ]);
    assert.equal(rolledBack.changes.pins.changed, COUNT);
  });
});

/** The id and a digest of the body of each line. */
async function digestsIn(path: string): Promise<string[]> {
  const digests: string[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { id, body } = JSON.parse(line);
    digests.push(digestLine(Number(id), String(body)));
  }
  return digests;
}

function digestOf(id: number): string {
  return digestLine(id, textOf(id));
}

function digestLine(id: number, body: string): string {
  return `${id} ${createHash('sha256').update(body).digest('base64')}`;
}
