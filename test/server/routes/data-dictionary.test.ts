/** The data dictionary agrees with the responses of a server. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { NO_REDACTION, REDACTABLE } from '../../../src/domain/redaction.ts';
import { UserPseudonyms } from '../../../src/render/redaction/user-pseudonyms.ts';
import { EMPTY_BUNDLE } from '../../model/bundle.ts';
import { type Deployment, openDeployment } from '../../model/deployment.ts';
import { type ParquetRows, readParquetRows } from '../../render/parquet-rows.ts';
import {
  type Column,
  DOCUMENT,
  describedRow,
  INSIGHTS_AS_CSV,
  pointsMembers,
  renderDocument,
  TABLES,
  UNDESCRIBED,
} from './data-dictionary.ts';

const ORGANIZATION = 'school';
const TIMESTAMP = '2018-03-12T17:00:45.567+00:00';
const [ADA, BLANK, CURIE] = [1n, 2n, 3n];

/** Every text that can be empty is empty in one record, and every other text has a value. */
const BUNDLE = {
  ...EMPTY_BUNDLE,
  users: [
    {
      ...{ id: ADA, email: 'ada@x.example', name: 'A. Lovelace', first_name: 'Augusta' },
      ...{ last_name: 'Lovelace', role: 'coadmin', class_role: 'instructor' },
    },
    {
      ...{ id: BLANK, email: 'blank@x.example', name: '', first_name: '', last_name: '' },
      ...{ role: '', class_role: '' },
    },
    { id: CURIE, email: 'curie@x.example', name: 'curie' },
    { id: 4n, email: 'amazing@x.example', name: 'Grace Brewster Hopper' },
  ],
  boards: [
    { id: 7n, title: '', category: '' },
    { id: 8n, title: 'Stars', category: 'Bookmarks' },
  ],
  pins: [
    { id: 70n, board_id: 7n, owner_id: ADA, title: '' },
    {
      ...{ id: 80n, board_id: 8n, owner_id: ADA, title: 'Sirius', body: 'Bright' },
      ...{ web_url: 'https://x.example/', image_url: 'https://x.example/s.png', tags: ['a, "b"', 'c'] },
    },
  ],
  events: [
    visit(BLANK, BLANK, 7n, 70n),
    visit(CURIE, CURIE, 8n, 80n),
    visit(ADA, CURIE, 7n, 70n),
    visit(CURIE, ADA, 7n, 70n),
    { ...visit(CURIE, ADA, 7n, 70n), action: 'created' },
    {
      ...{ type: 'board', action: 'followed', owner_id: ADA, actor_id: ADA, board_id: 7n },
      timestamp: TIMESTAMP,
    },
  ],
  adjustments: [{ user_id: ADA, board_id: 7n, points: 4, timestamp: TIMESTAMP, reason: 'kind' }],
};

function visit(owner_id: bigint, actor_id: bigint, board_id: bigint, pin_id: bigint) {
  return {
    ...{ type: 'pin', action: 'visited', owner_id, actor_id, board_id, pin_id },
    timestamp: TIMESTAMP,
  };
}

let deployment: Deployment;
let key: string;
before(async () => {
  deployment = await openDeployment();
  await deployment.store.createOrganization(ORGANIZATION, { title: '' });
  await deployment.load(ORGANIZATION, BUNDLE);
  key = await deployment.makeKey(ORGANIZATION);
});
after(() => deployment.close());

async function fetchBytes(path: string, apikey = key): Promise<Buffer> {
  const response = await fetch(deployment.url + path, { headers: { apikey } });
  assert.equal(response.status, 200, path);
  return Buffer.from(await response.arrayBuffer());
}

async function fetchRows(path: string, apikey = key): Promise<ParquetRows> {
  return await readParquetRows(await fetchBytes(`${path}?format=parquet`, apikey));
}

const namesOf = (columns: readonly Pick<Column, 'name'>[]) => columns.map(({ name }) => name);

const DUCKDB_TYPES = {
  integer: 'BIGINT',
  text: 'VARCHAR',
  list: 'VARCHAR',
  instant: 'TIMESTAMP WITH TIME ZONE',
  boolean: 'BOOLEAN',
};

const CELLS = {
  integer: /^-?\d+$/,
  text: /^/,
  list: /^\[(".*")?\]$/,
  instant: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00$/,
  boolean: /^(true|false)$/,
};

/** The names of the columns whose values differ, in whatever order the rows are. */
function changedColumns(names: readonly string[], some: ParquetRows['rows'], others: ParquetRows['rows']) {
  const valuesAt = (rows: ParquetRows['rows'], at: number) => rows.map((row) => String(row[at])).sort();
  return names.filter((_, at) => valuesAt(some, at).join('\n') !== valuesAt(others, at).join('\n'));
}

describe('docs/data-dictionary.md', () => {
  it('is what the fields and the OpenAPI documents say', () => {
    assert.equal(
      readFileSync(DOCUMENT, 'utf8'),
      renderDocument(),
      'docs/data-dictionary.md is outdated; run: node test/server/routes/data-dictionary.ts',
    );
  });

  it('uses every meaning that is written for it', () => {
    const meanings = new Set(
      [...TABLES.flatMap(({ columns }) => columns), ...pointsMembers()].map((one) => one.meaning),
    );
    assert.deepEqual(
      Object.values(UNDESCRIBED).filter((meaning) => !meanings.has(meaning)),
      [],
    );
  });

  for (const { heading, path, columns } of TABLES) {
    describe(`under "${heading}"`, () => {
      it('lists the columns of CSV in order, with the form of their values', async () => {
        const text = (await fetchBytes(`${path}?format=csv`)).toString();
        assert.ok(text.startsWith(`${namesOf(columns).join(',')}\r\n`), text.slice(0, 500));
        assert.ok(text.endsWith('\r\n'));
        const rows: string[][] = parse(text, { from: 2 });
        assert.ok(rows.length > 1);
        for (const [at, { name, type, isOfPin }] of columns.entries()) {
          for (const row of rows) {
            const cell = row[at] ?? '';
            if (!isOfPin || cell !== '') assert.match(cell, CELLS[type], name);
            if (type === 'list' && cell !== '') assert.ok(Array.isArray(JSON.parse(cell)), cell);
          }
        }
      });

      it('lists the columns that the OpenAPI documents describe', () => {
        for (const representation of ['csv', 'parquet'] as const) {
          const { properties, required } = describedRow(path, representation);
          assert.deepEqual(Object.keys(properties), namesOf(columns));
          assert.deepEqual(
            required.toSorted(),
            namesOf(columns.filter(({ isOfPin }) => !isOfPin)).toSorted(),
          );
          for (const { name, type } of columns) {
            assert.equal(properties[name]?.type, type === 'integer' ? 'integer' : 'string', name);
            assert.ok(properties[name]?.description, name);
          }
        }
      });

      it('lists the columns of Parquet in order, with their types', async () => {
        assert.deepEqual(
          (await fetchRows(path)).columns,
          columns.map(({ name, type }) => [name, DUCKDB_TYPES[type]]),
        );
      });

      it('says which columns can be blank, and which are null without a pin', async () => {
        const { rows } = await fetchRows(path);
        const columnsWith = (value: string | null) =>
          columns.filter((_, at) => rows.some((row) => row[at] === value)).map(({ name }) => name);
        assert.deepEqual(columnsWith(''), namesOf(columns.filter(({ isBlank }) => isBlank)));
        assert.deepEqual(columnsWith(null), namesOf(columns.filter(({ isOfPin }) => isOfPin)));
      });

      it('says which columns each redaction changes, and no pseudonym is empty', async () => {
        const { rows } = await fetchRows(path);
        for (const field of REDACTABLE) {
          const redacting = await deployment.makeKey(ORGANIZATION, {
            redact: { ...NO_REDACTION, [field]: true },
          });
          const redacted = await fetchRows(path, redacting);
          assert.deepEqual(
            changedColumns(namesOf(columns), rows, redacted.rows),
            namesOf(columns.filter((column) => column.redacted.includes(field))),
            field,
          );
        }
        const all = await deployment.makeKey(ORGANIZATION, { redact: { email: true, name: true, id: true } });
        const redacted = await fetchRows(path, all);
        assert.deepEqual(
          redacted.columns,
          columns.map(({ name, type }) => [name, DUCKDB_TYPES[type]]),
        );
        for (const [at, column] of columns.entries()) {
          if (column.redacted.length > 0)
            assert.ok(
              redacted.rows.every((row) => row[at] !== ''),
              column.name,
            );
        }
      });
    });
  }

  for (const { path: template, columns } of INSIGHTS_AS_CSV) {
    describe(`under /insights/v1${template}`, () => {
      const path = `/insights/v1${template.replace('{board-id}', '7').replace('{user-id}', `${ADA}`)}`;
      // By then, every user needs attention.
      const later = path.endsWith('attention') ? '&at=2020-01-01T00:00:00Z' : '';
      const load = async (apikey?: string, from = path): Promise<string[][]> =>
        parse((await fetchBytes(`${from}?format=csv${later}`, apikey)).toString());

      it('lists the columns of CSV in order, with the form of their values', async () => {
        const [header, ...rows] = await load();
        assert.deepEqual(header, namesOf(columns));
        assert.ok(rows.length > 0);
        for (const row of rows) {
          for (const [at, { name, type, isOptional }] of columns.entries()) {
            const cell = row[at] ?? '';
            if (!isOptional || cell !== '') assert.match(cell, CELLS[type], name);
          }
        }
      });

      it('says which columns each redaction changes', async () => {
        const [, ...rows] = await load();
        // For a key that redacts ids, the user in the path is a pseudonym.
        const { secret } = await deployment.store.organization(ORGANIZATION);
        const ofPseudonym = path.replace(
          `/users/${ADA}/`,
          `/users/${new UserPseudonyms(secret).ofOne(ADA)}/`,
        );
        for (const field of REDACTABLE) {
          const redact = { ...NO_REDACTION, [field]: true };
          const apikey = await deployment.makeKey(ORGANIZATION, { redact });
          const [, ...redacted] = await load(apikey, redact.id ? ofPseudonym : path);
          assert.deepEqual(
            changedColumns(namesOf(columns), rows, redacted),
            namesOf(columns.filter((column) => column.redacted.includes(field))),
            field,
          );
        }
      });
    });
  }

  it('lists every table of the insights', async () => {
    const document = JSON.parse((await fetchBytes('/insights/v1/openapi.json')).toString());
    const paths = Object.entries<{ get: { responses: { 200: { content: object } } } }>(document.paths);
    assert.deepEqual(
      paths
        .filter(([, { get }]) => 'text/csv' in get.responses[200].content)
        .map(([path]) => path)
        .sort(),
      [
        // Its columns depend on the system that imports it.
        '/v1/boards/{board-id}/gradebook',
        ...['/v1/events', '/v1/points', ...INSIGHTS_AS_CSV.map(({ path }) => `/v1${path}`)],
      ].sort(),
    );
  });

  it('is right that all events routes have the same columns', async () => {
    const header = `${namesOf(TABLES[0]!.columns).join(',')}\r\n`;
    const paths = ['/events/board/7', '/events/pins', '/events/user/1'].map((path) => `/a/v1${path}`);
    paths.push(
      ...['/events', '/board/7', '/pins', '/user/1'].map((path) => `/b/v1${path}`),
      '/insights/v1/events',
    );
    for (const path of paths) {
      assert.ok((await fetchBytes(`${path}?format=csv`)).toString().startsWith(header), path);
    }
  });

  it('lists the members of points records in order, with their types and redactions', async () => {
    const members = pointsMembers();
    const records = async (apikey: string): Promise<Record<string, unknown>[]> =>
      Object.values(JSON.parse((await fetchBytes('/a/v1/board/7/points', apikey)).toString()));
    const shown = await records(key);
    assert.ok(shown.length > 1);
    for (const record of shown) {
      assert.deepEqual(Object.keys(record), namesOf(members));
      for (const { name, type } of members) {
        assert.ok(type === 'integer' ? Number.isInteger(record[name]) : record[name] !== '', name);
      }
    }
    const rowsOf = (some: Record<string, unknown>[]) =>
      some.map((record) => Object.values(record).map((value) => String(value)));
    for (const field of REDACTABLE) {
      const redact = { ...NO_REDACTION, [field]: true };
      const redacted = await records(await deployment.makeKey(ORGANIZATION, { redact }));
      assert.deepEqual(
        changedColumns(namesOf(members), rowsOf(shown), rowsOf(redacted)),
        namesOf(members.filter((member) => member.redacted.includes(field))),
        field,
      );
    }
  });

  it('is right about the names of redacted users, and of users imported without halves of a name', async () => {
    const halves = async (apikey: string) =>
      (await fetchRows('/a/v1/users', apikey)).rows.map((row) => [row[1], row[2]]);
    assert.deepEqual(await halves(key), [
      ['Augusta', 'Lovelace'],
      ['', ''],
      ['curie', ''],
      ['Grace Brewster', 'Hopper'],
    ]);
    const redacting = await deployment.makeKey(ORGANIZATION, { redact: { ...NO_REDACTION, name: true } });
    const redacted = await halves(redacting);
    assert.ok(redacted.every(([first]) => first === 'Person'));
    assert.deepEqual(
      (await fetchRows('/b/v1/users', redacting)).rows.map((row) => row[3]),
      redacted.map((names) => names.join(' ')),
    );
  });

  it('is right that points have no CSV and no Parquet', async () => {
    for (const accept of ['text/csv', 'application/vnd.apache.parquet']) {
      const headers = { apikey: key, accept };
      const response = await fetch(`${deployment.url}/a/v1/board/7/points`, { headers });
      assert.equal(response.status, 406);
    }
  });
});
