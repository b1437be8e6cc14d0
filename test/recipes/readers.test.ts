/**
 * The safe ways of docs/recipes.md to read an export: programs that people use read ids beyond
 * 2^53, names and titles, and times without a change.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { type Deployment, openDeployment, storeSettings } from '../model/deployment.ts';
import { WORLD_SETTINGS } from '../world.ts';
import { blocksOf, lacking, PYTHONS, READERS_SECTION, runBlock, runs } from './blocks.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/recipes.md'), 'utf8');

const [BRIEN, QUOTE, LARGEST] = [2n ** 53n + 1n, 2n ** 53n + 3n, 2n ** 63n - 1n] as const;
const PLAIN = 7n;
/** Quotes, a comma and a line break in one cell. */
const TITLE = 'She said "no", then\n"yes"';
const NAMES = new Map([
  [BRIEN, "Pat O'Brien"],
  [QUOTE, "'Quote Bob"],
  [LARGEST, 'NA'],
]);

interface Cells {
  readonly actor_id: string;
  readonly actor_name: string;
  /** Empty for an event without a pin. */
  readonly pin_id: string;
  readonly pin_title: string;
  readonly board_id: string;
  readonly board_title: string;
  readonly timestamp: string;
}
const COLUMNS = [
  ...['actor_id', 'actor_name', 'pin_id', 'pin_title', 'board_id', 'board_title', 'timestamp'],
] as const;

const WITH_PIN = {
  pin_id: `${QUOTE}`,
  pin_title: TITLE,
  board_id: `${BRIEN}`,
  board_title: "Students' board",
};
const WITHOUT_PIN = { pin_id: '', pin_title: '', board_id: `${PLAIN}`, board_title: 'Plain' };
const EXPECTED: readonly Cells[] = [
  cellsOf(BRIEN, WITH_PIN, '2018-03-12T17:00:45.567+00:00'),
  cellsOf(QUOTE, WITH_PIN, '2018-03-13T00:00:00.000+00:00'),
  cellsOf(LARGEST, WITHOUT_PIN, '2018-03-13T00:00:00.001+00:00'),
  cellsOf(QUOTE, WITHOUT_PIN, '2018-10-28T01:30:00.250+00:00'),
];
const EXPECTED_MS = EXPECTED.map(({ timestamp }) => Date.parse(timestamp));

function cellsOf(actor: bigint, of: Omit<Cells, 'actor_id' | 'actor_name' | 'timestamp'>, timestamp: string) {
  return { actor_id: `${actor}`, actor_name: NAMES.get(actor) ?? '', ...of, timestamp };
}

let deployment: Deployment;
let folder: string;
before(async () => {
  deployment = await openDeployment();
  folder = deployment.folder;
  await deployment.store.createOrganization('harbor', storeSettings(WORLD_SETTINGS));
  await deployment.load('harbor', {
    ...EMPTY_BUNDLE,
    users: [...NAMES].map(([id, name]) => ({ id, email: `${id}@harbor.example`, name })),
    boards: [
      { id: BRIEN, title: WITH_PIN.board_title },
      { id: PLAIN, title: WITHOUT_PIN.board_title },
    ],
    pins: [{ id: QUOTE, board_id: BRIEN, owner_id: BRIEN, title: TITLE }],
    // The actor is the owner, too: an apostrophe is in two cells of a row.
    events: EXPECTED.map(({ actor_id, board_id, pin_id, timestamp }) => ({
      ...{ type: pin_id === '' ? 'board' : 'pin', action: 'visited' },
      ...{ owner_id: BigInt(actor_id), actor_id: BigInt(actor_id), board_id: BigInt(board_id) },
      ...(pin_id === '' ? {} : { pin_id: BigInt(pin_id) }),
      timestamp,
    })),
  });
  const key = await deployment.makeKey('harbor');
  for (const format of ['csv', 'json', 'ndjson', 'parquet']) {
    const response = await fetch(`${deployment.url}/a/v1/events?format=${format}`, {
      headers: { apikey: key },
    });
    assert.equal(response.status, 200, format);
    await writeFile(join(folder, `events.${format}`), Buffer.from(await response.arrayBuffer()));
  }
});
after(() => deployment.close());

/** The text of the page, after a check that it is there. */
function shown(text: string): string {
  assert.ok(PAGE.includes(text), `docs/recipes.md shows ${text}`);
  return text;
}

async function outputOf(...command: readonly [string, ...string[]]): Promise<string> {
  const { code, stdout, stderr } = await runBlock(command, folder, {});
  assert.equal(code, 0, stderr);
  return stdout;
}

function csvRows(text: string): Record<string, string>[] {
  return parse(text, { columns: true });
}

/** Rows in which the named columns alone remain. */
function pick(rows: readonly object[], columns: readonly string[] = COLUMNS) {
  return rows.map((row) => Object.fromEntries(columns.map((name) => [name, Reflect.get(row, name)])));
}

describe('jq', { skip: lacking(['jq', () => runs('jq', '--version')]) }, () => {
  it('reads ids as text', async () => {
    const { code } =
      blocksOf('recipes.md').find(({ name }) => name === `${READERS_SECTION} 1`) ?? assert.fail();
    await outputOf('sh', '-c', code);
    const lines = await outputOf(
      ...['jq', '--compact-output'],
      '[.actor.id, .actor.name, .pin.id // "", .pin.title // "", .board.id, .board.title, .timestamp]',
      'events-text.ndjson',
    );
    const rows: readonly string[][] = JSON.parse(`[${lines.trim().replaceAll('\n', ',')}]`);
    assert.deepEqual(
      rows,
      EXPECTED.map((cells) => COLUMNS.map((name) => Reflect.get(cells, name))),
    );
  });

  it('reads times as milliseconds', async () => {
    const filter = shown('(.[0:19] + "Z" \\| fromdate) * 1000 + (.[20:23] \\| tonumber)').replaceAll(
      '\\|',
      '|',
    );
    const lines = await outputOf('jq', `.timestamp | ${filter}`, 'events.ndjson');
    assert.deepEqual(lines.trim().split('\n').map(Number), EXPECTED_MS);
  });
});

const MILLER = ['Miller', () => runs('mlr', '--version')] as const;
describe('Miller', { skip: lacking(MILLER) }, () => {
  it('reads ids as they are', async () => {
    const sorted = await outputOf('mlr', '--icsv', '--ocsv', 'sort', '-t', 'timestamp', 'events.csv');
    assert.deepEqual(pick(csvRows(sorted)), pick(EXPECTED));
    const written = await outputOf('mlr', '--icsv', '--ojson', 'cut', '-f', 'actor_id', 'events.csv');
    assert.deepEqual(
      [...written.matchAll(/"actor_id": (\d+)/g)].map(([, id]) => id),
      EXPECTED.map(({ actor_id }) => actor_id),
    );
  });

  it('reads times as seconds', async () => {
    const expression = shown('strptime(sub($timestamp, "[.].*", "Z"), "%Y-%m-%dT%H:%M:%SZ")');
    const written = await outputOf('mlr', '--icsv', '--ocsv', 'put', `$s = ${expression}`, 'events.csv');
    assert.deepEqual(
      csvRows(written).map(({ s }) => Number(s)),
      EXPECTED_MS.map((ms) => Math.floor(ms / 1000)),
    );
  });
});

describe('csvkit', { skip: lacking(['csvkit', () => runs('csvcut', '--version')]) }, () => {
  it('reads all cells as text', async () => {
    const [json = '', ...others] = ['csvjson', 'csvsort'].map((program) =>
      shown(`${program} --no-inference --blanks`).split(' '),
    );
    const [program = '', ...words] = json;
    const rows = JSON.parse(await outputOf(program, ...words, 'events.csv'));
    assert.deepEqual(pick(rows), pick(EXPECTED));
    for (const [other = '', ...its] of others) {
      const sorted = csvRows(await outputOf(other, ...its, '-c', 'timestamp', 'events.csv'));
      assert.deepEqual(pick(sorted), pick(EXPECTED));
    }
    assert.deepEqual(pick(csvRows(await outputOf('csvcut', 'events.csv'))), pick(EXPECTED));
  });
});

const PYTHON = PYTHONS.find((one) => runs(one, '-c', 'import pandas'));
describe('pandas', { skip: lacking(['pandas', () => PYTHON !== undefined]) }, () => {
  it('reads all cells as text, and times', async () => {
    const options = shown('dtype="string", keep_default_na=False');
    const times = shown('pandas.to_datetime(events["timestamp"])');
    const program = `
import pandas
events = pandas.read_csv("events.csv", ${options})
times = ${times}
events["ms"] = (times - pandas.Timestamp(0, tz="UTC")) // pandas.Timedelta(milliseconds=1)
print(events.to_json(orient="records"))`;
    const rows = JSON.parse(await outputOf(PYTHON ?? '', '-c', program));
    assert.deepEqual(pick(rows), pick(EXPECTED));
    assert.deepEqual(
      rows.map(({ ms }: { readonly ms: number }) => ms),
      EXPECTED_MS,
    );
  });
});

const R_TIMES = 'as.POSIXct(events$timestamp, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")';
/** Reads, and gives the columns as a list that `jsonlite` writes. */
const R_READERS = [
  {
    ...{ library: 'utils', reading: 'colClasses = "character", na.strings = character()' },
    code: (options: string) => `events <- read.csv("events.csv", encoding = "UTF-8", ${options})`,
    times: R_TIMES,
  },
  {
    ...{ library: 'readr', reading: 'col_types = cols(.default = "c", timestamp = "T"), na = character()' },
    code: (options: string) => `events <- as.data.frame(read_csv("events.csv", ${options}))`,
    times: 'events$timestamp',
  },
  {
    ...{ library: 'data.table', reading: 'colClasses = "character", na.strings = NULL' },
    code: (options: string) =>
      `events <- as.data.frame(fread("events.csv", encoding = "UTF-8", ${options}))
       events[] <- lapply(events, function(x) ${shown(`gsub('""', '"', x, fixed = TRUE)`)})`,
    times: R_TIMES,
  },
  {
    ...{ library: 'jsonlite', reading: 'bigint_as_char = TRUE' },
    code: (options: string) => `
      lines <- readLines("events.ndjson", encoding = "UTF-8")
      events <- do.call(rbind, lapply(lines, function(line) {
        e <- fromJSON(line, ${options})
        text <- function(x) if (is.null(x)) "" else format(x, digits = 22)
        data.frame(actor_id = text(e$actor$id), actor_name = e$actor$name, pin_id = text(e$pin$id),
          pin_title = text(e$pin$title), board_id = text(e$board$id), board_title = e$board$title,
          timestamp = e$timestamp)
      }))
      whole <- fromJSON("events.json", ${options})
      stopifnot(identical(whole$actor$id, events$actor_id), identical(whole$board$id, events$board_id))`,
    times: R_TIMES,
  },
];
for (const { library, reading, code, times } of R_READERS) {
  const needs = [
    `R with ${library} and jsonlite`,
    () => runs('Rscript', '-e', `library(${library}); library(jsonlite)`),
  ] as const;
  describe(`R with ${library}`, { skip: lacking(needs) }, () => {
    it('reads all cells as text, and times', async () => {
      const program = `
        suppressMessages({ library(${library}); library(jsonlite) })
        ${code(shown(reading))}
        times <- ${shown(times)}
        events$ms <- sprintf("%.0f", as.numeric(times) * 1000)
        events$timestamp <- NULL
        cat(toJSON(events))`;
      const rows = JSON.parse(await outputOf('Rscript', '-e', program));
      const columns = COLUMNS.filter((name) => name !== 'timestamp');
      assert.deepEqual(pick(rows, columns), pick(EXPECTED, columns));
      assert.deepEqual(
        rows.map(({ ms }: { readonly ms: string }) => Number(ms)),
        EXPECTED_MS,
      );
    });
  });
}

/** What programs read that take a line break for the end of a row, and ids for numbers. */
async function writePrepared(): Promise<void> {
  const code =
    blocksOf('recipes.md').find(({ name }) => name === `${READERS_SECTION} 2`)?.code ?? assert.fail();
  await outputOf('sh', '-c', code);
}
const PREPARED = EXPECTED.map(({ actor_id, actor_name }) => [`u${actor_id}`, actor_name]);

describe('gretl', { skip: lacking(['gretl', () => runs('gretlcli', '--version')], MILLER) }, () => {
  it('reads the prepared file', async () => {
    await writePrepared();
    const program = [
      'open events-prepared.csv --quiet',
      'loop i=1..$nobs --quiet',
      '  printf "%s\\t%s\\t%s\\n", actor_id[i], actor_name[i], pin_title[i]',
      'endloop',
    ];
    await writeFile(join(folder, 'events.inp'), `${program.join('\n')}\n`);
    const rows = (await outputOf('gretlcli', '--batch', 'events.inp'))
      .split('\n')
      .filter((line) => /^u\d+\t/.test(line))
      .map((line) => line.split('\t'));
    assert.deepEqual(
      rows.map(([id, name]) => [id, name]),
      PREPARED,
    );
    // It keeps the doubled quotes of CSV.
    assert.equal(rows[0]?.[2]?.replaceAll('""', '"'), TITLE.replace('\n', ' '));
  });
});

describe('PSPP', { skip: lacking(['PSPP', () => runs('pspp', '--version')], MILLER) }, () => {
  it('reads the prepared file, and times', async () => {
    await writePrepared();
    const variables = ['actor_id A21', 'actor_name A40', 'pin_title A200', 'timestamp A29'].join(' ');
    const time = shown(
      'NUMBER(CONCAT(SUBSTR(timestamp, 1, 10), " ", SUBSTR(timestamp, 12, 12)), YMDHMS23.3)',
    );
    const program = `
GET DATA /TYPE=TXT /FILE="events-prepared.csv" /ARRANGEMENT=DELIMITED /DELIMITERS="," /QUALIFIER='"'
  /FIRSTCASE=2 /VARIABLES=${variables}.
COMPUTE seconds = ${time} - DATE.DMY(1, 1, 1970).
FORMATS seconds (F20.3).
SAVE TRANSLATE /OUTFILE="pspp.csv" /TYPE=CSV /FIELDNAMES /CELLS=VALUES /REPLACE.
`;
    await writeFile(join(folder, 'events.sps'), program);
    await outputOf('pspp', 'events.sps');
    const rows = csvRows(readFileSync(join(folder, 'pspp.csv'), 'utf8'));
    assert.deepEqual(
      rows.map(({ actor_id, actor_name }) => [actor_id?.trim(), actor_name?.trim()]),
      PREPARED,
    );
    assert.equal(rows[0]?.['pin_title']?.trim(), TITLE.replace('\n', ' '));
    assert.deepEqual(
      rows.map(({ seconds }) => Math.round(Number(seconds) * 1000)),
      EXPECTED_MS,
    );
  });
});

describe('LibreOffice', { skip: lacking(['LibreOffice', () => runs('soffice', '--version')]) }, () => {
  it('reads columns of the type Text as they are', async () => {
    const [header = ''] = readFileSync(join(folder, 'events.csv'), 'utf8').split('\r\n');
    // Separator, quote, UTF-8, first row, and the type Text for each column.
    const types = header.split(',').map((_, at) => `${at + 1}/2`);
    const filter = `Text - txt - csv (StarCalc):44,34,76,1,${types.join('/')}`;
    await outputOf(
      ...(['soffice', '--headless', `-env:UserInstallation=file://${folder}/office`] as const),
      ...[
        `--infilter=${filter}`,
        '--convert-to',
        'csv',
        '--outdir',
        join(folder, 'office-out'),
        'events.csv',
      ],
    );
    const file = join(folder, 'office-out/events.csv');
    assert.ok(existsSync(file));
    assert.deepEqual(pick(csvRows(readFileSync(file, 'utf8'))), pick(EXPECTED));
  });
});

describe('hyparquet', () => {
  it('reads ids as bigint and times as Date, with the decompression of Node.js', async () => {
    shown('compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) }');
    const file = await asyncBufferFromFile(join(folder, 'events.parquet'));
    const rows = await parquetReadObjects({
      file,
      compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
    });
    assert.ok(rows.every(({ actor_id }) => typeof actor_id === 'bigint'));
    const texts = rows.map(({ timestamp, ...cells }) => ({
      ...Object.fromEntries(Object.entries(cells).map(([name, value]) => [name, String(value ?? '')])),
      timestamp: timestamp.toISOString().replace('Z', '+00:00'),
    }));
    assert.deepEqual(pick(texts), pick(EXPECTED));
  });
});
