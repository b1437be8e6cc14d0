/**
 * Real events: none is lost or added, a repeated import changes nothing, and imported points are
 * served. Short runs use every sixteenth student; long runs use all million events, over both
 * catalogs and read in both ways.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { IS_LONG } from '../long.ts';
import { get } from '../model/client.ts';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { makeOuladBundle, OULAD_COUNTS, readPacked } from '../oulad-bundle.ts';
import { whyWithout } from '../real-data.ts';
import { CATALOGS, DEFAULT_STORAGE, describeOver, EMBEDDED } from '../storage.ts';

const skip = whyWithout('oulad');
const NEWLINE = 0x0a;
const ASKED_AT_ONCE = 16;

type Row = Readonly<Record<string, string>>;

let folder: string;

function readText(name: string): string {
  return readPacked(join(folder, name));
}

function readRows(name: string): readonly Row[] {
  const text = readText(name);
  return parse<Row>(text, { columns: true });
}

interface ServedEvent extends Readonly<Record<'type' | 'action' | 'timestamp', string>> {
  readonly owner: { readonly id: number };
  readonly actor: { readonly id: number };
  readonly board: { readonly id: number };
  readonly pin?: { readonly id: number };
}

let digest: string | undefined;

function digestOfFile(): string {
  digest ??= digestOfLines();
  return digest;
}

/**
 * No cell of this file needs quotes and all its times have one form, so lines can be cut and sorted
 * as text.
 */
function digestOfLines(): string {
  const text = readText('events.csv.gz');
  const [header = '', ...lines] = text.trimEnd().split('\n');
  assert.equal(header.trim(), 'id,type,action,owner_id,actor_id,board_id,pin_id,timestamp');
  const rows = lines.map((line) => line.trim());
  const timeOf = (row: string) => row.slice(row.lastIndexOf(',') + 1);
  rows.sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : timeOf(one) > timeOf(other) ? 1 : 0));
  const digest = createHash('sha256');
  for (const row of rows) digest.update(`${row.slice(row.indexOf(',') + 1)}\n`);
  return digest.digest('hex');
}

/**
 * Counts the elements of one JSON array that arrives in chunks; detects an array without an end.
 */
class ElementCounter {
  #depth = 0;
  #inText = false;
  #escaped = false;
  #ended = false;
  elements = 0;

  add(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === 0x5c) this.#escaped = true;
        else if (byte === 0x22) this.#inText = false;
      } else if (byte === 0x22) this.#inText = true;
      else if (byte === 0x7b || byte === 0x5b) {
        if (this.#depth === 1 && byte === 0x7b) this.elements += 1;
        this.#depth += 1;
      } else if (byte === 0x7d || byte === 0x5d) {
        this.#depth -= 1;
        if (this.#depth === 0) this.#ended = true;
      } else assert.ok(!this.#ended, 'nothing follows the array');
    }
  }

  get isWhole(): boolean {
    return this.#ended && this.#depth === 0 && !this.#inText;
  }
}

before(async () => {
  if (skip === false) folder = await makeOuladBundle();
});
after(async () => {
  if (skip === false) await rm(folder, { recursive: true });
});

const KINDS = IS_LONG ? [EMBEDDED, CATALOGS[1]!] : [DEFAULT_STORAGE];

describeOver(KINDS, 'the OULAD bundle', { skip }, (kind) => {
  let deployment: Deployment;
  let key: string;

  before(async () => {
    deployment = await openDeployment(kind);
    await loadFiles(deployment.store, 'oulad', [folder]);
    key = await deployment.makeKey('oulad');
  });
  after(() => deployment.close());

  async function stream(path: string, take: (bytes: Uint8Array) => void): Promise<Headers> {
    const headers = { apikey: key, 'accept-encoding': 'identity' };
    const response = await fetch(deployment.url + path, { headers });
    assert.equal(response.status, 200);
    let received = 0;
    for await (const bytes of response.body ?? []) {
      received += bytes.length;
      take(bytes);
    }
    assert.equal(received, Number(response.headers.get('content-length')));
    return response.headers;
  }

  for (const path of ['/a/v1/events', '/b/v1/events']) {
    it(`is served by GET ${path} as exactly ${OULAD_COUNTS.events} elements of one complete array`, async () => {
      const counter = new ElementCounter();
      await stream(path, (bytes) => counter.add(bytes));
      assert.equal(counter.elements, OULAD_COUNTS.events);
      assert.ok(counter.isWhole);
    });
  }

  it('has the events of the file in NDJSON, by time and, within an instant, in the order of the file', async () => {
    const served = createHash('sha256');
    let lines = 0;
    let rest = Buffer.alloc(0);
    await stream('/a/v1/events?format=ndjson', (bytes) => {
      const buffer = Buffer.concat([rest, bytes]);
      let start = 0;
      for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, start)) {
        const event: ServedEvent = JSON.parse(buffer.toString('utf8', start, end));
        const things = [event.owner, event.actor, event.board, event.pin].map((thing) => thing?.id ?? '');
        served.update(`${[event.type, event.action, ...things, event.timestamp].join(',')}\n`);
        lines += 1;
        start = end + 1;
      }
      rest = buffer.subarray(start);
    });
    assert.equal(rest.length, 0);
    assert.equal(lines, OULAD_COUNTS.events);
    assert.equal(served.digest('hex'), digestOfFile());
  });

  it('changes nothing when it is imported again', async () => {
    const before = await get(`${deployment.url}/a/v1/boards`, key);
    const version = await deployment.store.currentVersion('oulad');
    const report = await loadFiles(deployment.store, 'oulad', [folder]);
    assert.equal(report.published, false);
    assert.equal(await deployment.store.currentVersion('oulad'), version);
    const after = await get(`${deployment.url}/a/v1/boards`, key);
    assert.equal(after.headers.get('etag'), before.headers.get('etag'));
  });

  it('has the imported points of every user and board', async () => {
    const imported = readRows('points.csv.gz');
    assert.equal(imported.length, OULAD_COUNTS.points);
    const describePoints = (record: Readonly<Record<string, unknown>>) =>
      ['user_id', 'board_id', 'total_points', 'participation_score'].map((name) => record[name]).join(' ');
    const expected = imported.map(describePoints).toSorted();
    const pairs = new Set(imported.map((record) => `${record['user_id']} ${record['board_id']}`));
    const recordsFrom = async (path: string): Promise<readonly string[]> => {
      const reply = await get(deployment.url + path, key);
      assert.equal(reply.status, 200, reply.text);
      const records = Object.values<Readonly<Record<string, unknown>>>(JSON.parse(reply.text));
      return records
        .filter((record) => pairs.has(`${record['user_id']} ${record['board_id']}`))
        .map(describePoints);
    };
    const ofBoards: string[] = [];
    for (const { id } of readRows('boards.csv.gz'))
      ofBoards.push(...(await recordsFrom(`/a/v1/board/${id}/points`)));
    assert.deepEqual(ofBoards.toSorted(), expected);
    const ofUsers: string[] = [];
    const users = readRows('users.csv.gz');
    for (let first = 0; first < users.length; first += ASKED_AT_ONCE) {
      const some = users.slice(first, first + ASKED_AT_ONCE);
      const answers = await Promise.all(some.map(({ id }) => recordsFrom(`/a/v1/user/${id}/points`)));
      ofUsers.push(...answers.flat());
    }
    assert.deepEqual(ofUsers.toSorted(), expected);
  });
});
