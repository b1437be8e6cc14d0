import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FORMAT_TITLES } from '../../src/ingest/formats/choices.ts';
import { run, runJson, temporaryFolder } from './command.ts';

const folder = temporaryFolder();
const logs = join(folder, 'logs');
mkdirSync(logs);
writeFileSync(join(logs, 'README.txt'), 'not read');
writeFileSync(
  join(logs, 'report.csv'),
  [
    'Time,User full name,Event context,Event name,Description',
    `"13/10/21, 12:39",Ada,Course: Chemistry,Course viewed,The user with id '4' viewed the course with id '9'.`,
    `"13/10/21, 12:38",Ada,Course: Chemistry,Course viewed,The user with id '4' viewed the course with id '9'.`,
    `"13/10/21, 12:37",Ada,Course: Chemistry,Grades viewed,The user with id '4' viewed grades.`,
  ].join('\n'),
);
const mapping = join(folder, 'mapping.json');
writeFileSync(mapping, '{"Grades viewed": "board.graded"}');
const half = join(folder, 'half.json');
writeFileSync(half, '{"Grades viewed": "board"}');
const into = (organization: string) => ['--organization', organization, '--data', join(folder, 'data')];
const asLog = ['--as', 'moodle-log', '--time-zone', 'Asia/Muscat'];

describe('import of other formats', () => {
  it('lists the formats with --formats, without any other option', async () => {
    const { code, stdout } = await run(['import', '--formats']);
    assert.equal(code, 0);
    for (const name of Object.keys(FORMAT_TITLES)) assert.match(stdout, new RegExp(`^${name} +\\S`, 'm'));
  });

  it('lists the formats as JSON with --json before or after --formats', async () => {
    const formats = Object.entries(FORMAT_TITLES).map(([format, title]) => ({ format, title }));
    assert.deepEqual(await runJson(['import', '--formats']), formats);
    const { stdout } = await run(['import', '--json', '--formats']);
    assert.deepEqual(JSON.parse(stdout), formats);
  });

  it('reports the resulting events and the dropped records, with an example', async () => {
    const { code, stdout, stderr } = await run(['import', logs, ...asLog, ...into('first')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /report\.csv +moodle-log +3$/m);
    assert.match(stdout, /^board\.visited +2$/m);
    assert.match(stdout, /^is not mapped to an event: Grades viewed +1 +\S+report\.csv:4$/m);
    assert.match(stdout, /^Ignored files: .*README\.txt$/m);
    assert.match(stdout, /^Published as version/m);
  });

  it('says what it assumed of a log, and reads it otherwise with --encoding', async () => {
    const log = join(folder, 'log.csv');
    const header = 'Zeit,Name,Betroffen,Kontext,Komponente,Ereignis,Beschreibung,Herkunft,IP';
    const row = `"13/10/21, 12:39",Ada,-,Kurs: Caf\xe9,X,Kurs angezeigt,The user with id '4' viewed the course with id '9'.,web,`;
    writeFileSync(log, `${header}\n${row}\n`, 'latin1');
    const { stdout } = await run(['import', log, ...asLog, ...into('other'), '--dry-run']);
    assert.match(stdout, /^the columns under a header that is not English .* 1 +\S+log\.csv:1$/m);
    assert.match(stdout, /^lines that are not UTF-8 are Windows-1252; otherwise give --encoding +1 +\S+:2$/m);
    const named = ['--encoding', 'iso-8859-2', '--dry-run'];
    const { translated } = await runJson(['import', log, ...asLog, ...named, ...into('other')]);
    assert.equal(translated.assumed.length, 1);
  });

  it('reports the same with --json, and applies a mapping', async () => {
    const options = [...asLog, '--mapping', mapping, '--dry-run'];
    const report = await runJson(['import', logs, ...options, ...into('mapped')]);
    assert.deepEqual(report.translated, { events: { 'board.visited': 2, 'board.graded': 1 }, dropped: [] });
    assert.equal(report.changes.events.added, 3);
  });

  it('is refused when every record is dropped, even with --skip-invalid, and says so', async () => {
    const grades = join(folder, 'grades.csv');
    const head = 'Time,User full name,Event context,Event name,Description\n';
    const row = `"13/10/21, 12:37",Ada,Course: Chemistry,Grades viewed,The user with id '4' viewed the grades of the course with id '9'.\n`;
    writeFileSync(grades, head + row + row);
    const rejects = join(folder, 'rejects.ndjson');
    for (const more of [[], ['--dry-run'], ['--skip-invalid', rejects]]) {
      const { code, stdout, stderr } = await run(['import', grades, ...asLog, ...into('grades'), ...more]);
      assert.equal(code, 1, stderr);
      assert.match(stdout, /^is not mapped to an event: Grades viewed +2 +\S+grades\.csv:2$/m);
      assert.match(stderr, /^corkboard: Nothing was published: 2 records contained no event/);
    }
    const { code, stdout } = await run(['import', grades, ...asLog, ...into('grades'), '--json']);
    assert.deepEqual([code, JSON.parse(stdout).outcome], [1, 'refused']);
    const known = ['import', logs, ...asLog, ...into('known')];
    await runJson(known);
    assert.equal((await runJson(known)).outcome, 'unchanged');
  });

  it('succeeds with --follow even if every record is dropped', async () => {
    const statement = {
      verb: { id: 'http://x.example/verbs/voided' },
      actor: { mbox: 'mailto:a@x.example' },
    };
    const input = `${JSON.stringify({ id: '12345678-1234-5678-1234-567812345678', ...statement, object: { id: 'http://x.example/o' }, timestamp: '2024-03-31T01:30:00Z' })}\n`;
    const args = ['import', '-', '--follow', '--as', 'xapi', '--every', '0.1', ...into('followed')];
    const { code, stdout, stderr } = await run([...args, '--json'], { input });
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).dropped, 1);
  });

  it('reports the events, users and dropped records of a dump with --dry-run', async () => {
    const dump = join(folder, 'dump');
    mkdirSync(dump);
    const rows = (name: string, ...all: readonly string[]) =>
      writeFileSync(
        join(dump, `${name}.xml`),
        [`<${name.toLowerCase()}>`, ...all, `</${name.toLowerCase()}>`].join('\n'),
      );
    const date = 'CreationDate="2024-05-01T10:00:00.000"';
    rows('Posts', `<row Id="1" PostTypeId="1" ${date} Title="Why?" Tags="|sky|" OwnerUserId="4" />`);
    rows('Votes', `<row Id="1" PostId="1" VoteTypeId="2" ${date} />`);
    rows('Users', `<row Id="4" DisplayName="Ada" ${date} />`);
    const options = ['--as', 'stack-exchange', '--dry-run', ...into('dump')];
    const { code, stdout, stderr } = await run(['import', dump, ...options]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^pin\.created +1$/m);
    assert.match(stdout, /^users +1$/m);
    assert.match(stdout, /^names no user: UpMod +1 +\S+Votes\.xml:2$/m);
    assert.match(stdout, /nothing was published \(dry run\)/);
  });

  it('reports what a roster describes and deletes', async () => {
    const roster = join(folder, 'roster');
    mkdirSync(roster);
    const head = 'sourcedId,status,dateLastModified';
    const write = (name: string, text: string) => writeFileSync(join(roster, `${name}.csv`), text);
    write('manifest', 'propertyName,value\noneroster.version,1.2\nfile.users,delta\n');
    write('orgs', `${head},name,type\no1,,,School,school\n`);
    write('classes', `${head},title,courseSourcedId,schoolSourcedId\nk1,,,Acids,c1,o1\n`);
    write('users', `${head},username,givenName,familyName\nu1,active,,ada,Ada,Lee\nu2,tobedeleted,,,,\n`);
    write('enrollments', `${head},classSourcedId,userSourcedId,role\ne1,,,k1,u1,teacher\n`);
    const { code, stdout, stderr } = await run(['import', roster, '--as', 'oneroster', ...into('roster')]);
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^DESCRIBED +RECORDS\nboards +1\nmemberships +1\nusers +1\n\nDELETED +RECORDS\nusers +1$/m,
    );
    assert.match(stdout, /^memberships +1 +0 +0$/m);
    write('users', `${head},username,givenName,familyName\n`);
    write('classes', `${head},title,courseSourcedId,schoolSourcedId\n`);
    write('enrollments', `${head},classSourcedId,userSourcedId,role\n`);
    const empty = await runJson(['import', roster, '--as', 'oneroster', ...into('roster')]);
    assert.deepEqual([empty.outcome, empty.translated], ['unchanged', { events: {}, dropped: [] }]);
    const mapped = ['--as', 'oneroster', '--mapping', mapping];
    const refused = await run(['import', roster, ...mapped, ...into('roster')]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /OneRoster has no events\. Leave out --mapping\./);
  });

  it('reports null for the conversion of a bundle with --json', async () => {
    const users = join(folder, 'users.csv');
    writeFileSync(users, 'id,email,name\n1,ada@x.example,Ada\n');
    assert.equal((await runJson(['import', users, ...into('bundle')])).translated, null);
  });

  for (const [what, options, message] of [
    ['a log without a time zone', ['--as', 'moodle-log'], /Give it, like --time-zone/],
    [
      'a time zone that does not exist',
      ['--as', 'moodle-log', '--time-zone', 'Mars/Base'],
      /--time-zone Mars\/Base must be the name of an IANA time zone, such as "Europe\/Berlin"\./,
    ],
    ['a time zone for a bundle', ['--as', 'events', '--time-zone', 'UTC'], /--time-zone requires a format/],
    ['an invalid mapping', [...asLog, '--mapping', join(logs, 'README.txt')], /must be one JSON object/],
    ['a mapping to an incomplete name', [...asLog, '--mapping', half], /map "Grades viewed" to an event/],
    [
      'a mapping file that does not exist',
      [...asLog, '--mapping', join(logs, 'none.json')],
      /Cannot read the mapping/,
    ],
    ['a board of a Moodle log', [...asLog, '--board-from', 'grouping'], /--board-from requires --as xapi/],
    ['an unknown code page', [...asLog, '--encoding', 'cp932'], /no code page cp932\. Use .* like shift_jis/],
    ['a code page for a bundle', ['--as', 'events', '--encoding', 'gbk'], /--encoding requires a format/],
    ['a code page for xAPI', ['--as', 'xapi', '--encoding', 'gbk'], /always UTF-8\. Leave out/],
    ['an unknown format', ['--as', 'blackboard'], /Allowed choices/],
    ['a time zone for xAPI', ['--as', 'xapi', '--time-zone', 'UTC'], /have a time zone\. Leave out/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const { code, stderr, stdout } = await run(['import', logs, ...options, ...into('refused')]);
      assert.notEqual(code, 0);
      assert.match(stderr, message);
      assert.equal(stdout, '');
      assert.equal((await run(['organizations', 'show', 'refused', ...into('x').slice(2)])).code, 1);
    });
  }

  it('reads a learning record store repeatedly with --from-lrs', async (t) => {
    const statements = [1, 2].map((id) => ({
      id: `${id}`,
      actor: { mbox: 'mailto:ada@x.example' },
      verb: { id: 'http://x.example/verbs/viewed' },
      object: {
        id: 'http://x.example/course',
        definition: { type: 'http://adlnet.gov/expapi/activities/course' },
      },
      timestamp: '2026-01-05T08:00:00Z',
    }));
    let given: readonly object[] = statements;
    const server = createServer((request, response) => {
      if (request.headers.authorization !== 'Basic eDp5') return response.writeHead(401).end();
      return response.end(JSON.stringify({ statements: given }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const lrs = `http://127.0.0.1:${(server.address() as AddressInfo).port}/xapi`;
    const environment = { CORKBOARD_LRS_AUTHORIZATION: 'Basic eDp5' };
    const pull = async () => {
      const options = ['import', '--from-lrs', lrs, ...into('lrs'), '--json'];
      const { code, stdout, stderr } = await run(options, { environment });
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const first = await pull();
    assert.deepEqual([first.outcome, first.changes.events.added], ['published', 2]);
    assert.equal((await pull()).outcome, 'unchanged');
    given = [];
    assert.equal((await pull()).outcome, 'unchanged');
    assert.equal((await run(['import', logs, '--from-lrs', lrs, ...into('lrs')])).code, 2);
    assert.equal((await run(['import', '--from-lrs', 'file:///etc', ...into('lrs')])).code, 2);
    const secret = await run(['import', '--from-lrs', 'http://ada:s3cret@x.example', ...into('lrs')]);
    assert.equal(secret.code, 2);
    assert.doesNotMatch(secret.stderr, /s3cret/);
    for (const wrong of [
      ['--since', 'yesterday'],
      ['--as', 'caliper'],
    ]) {
      assert.equal((await run(['import', '--from-lrs', lrs, ...wrong, ...into('lrs')])).code, 2);
    }
    const closed = await run(['import', '--from-lrs', `${lrs}/none`, ...into('lrs')], {
      environment: { CORKBOARD_LRS_AUTHORIZATION: 'Basic wrong' },
    });
    assert.equal(closed.code, 1);
    assert.match(
      closed.stderr,
      /Cannot read the learning record store: it responded with status 401\. Check/,
    );
    assert.doesNotMatch(closed.stderr, /Basic/);
    assert.equal((await run(['import', ...into('lrs')])).code, 2);
  });

  it('refuses a table for a JSON format with one sentence', async () => {
    const { code, stderr } = await run(['import', logs, '--as', 'xapi', ...into('table')]);
    assert.equal(code, 2);
    assert.match(stderr, /report\.csv: is a table, but xapi is JSON\.\n$/);
    assert.equal(stderr.trimEnd().split('\n').length, 1);
  });

  it('refuses to read a stream twice', async () => {
    const { code, stderr } = await run(['import', '-', ...asLog, ...into('stream')]);
    assert.equal(code, 2);
    assert.match(stderr, /is read twice, so it cannot come from -\./);
  });
});
