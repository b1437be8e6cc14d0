/** Files of other software in code pages other than UTF-8. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { moodleLog } from '../../../src/ingest/formats/moodle-log.ts';
import { oneroster } from '../../../src/ingest/formats/oneroster.ts';
import { importFiles, problemsOf } from '../imported-files.ts';

const HEADER =
  'Time,User full name,Affected user,Event context,Component,Event name,Description,Origin,IP address';
const NOT_UTF8 = 'lines that are not UTF-8 are Windows-1252; otherwise give --encoding';

const textWith = (title: string) =>
  `${HEADER}\n"14/02/25, 10:05",-,-,Course: ${title},System,Course viewed,The user with id '4' viewed the course with id '7'.,web,\n`;
const logWith = (bytes: string) => Buffer.from(textWith(bytes), 'latin1');

async function importLog(t: TestContext, log: string | Uint8Array, encoding?: string) {
  const foreign = { format: moodleLog, options: { timeZone: 'UTC' }, encoding };
  const imported = await importFiles(t, { 'log.csv': log }, { foreign });
  const { assumed = [] } = imported.report.translated ?? {};
  const { published } = imported.store;
  return {
    problems: problemsOf(imported),
    records: published,
    boards: published
      .filter(({ kind }) => kind === 'boards')
      .map(({ record }) => Reflect.get(record, 'title')),
    assumed: assumed.map(
      ({ assumption, count, examples }) =>
        `${count} ${assumption} ${examples[0]?.slice(imported.folder.length + 1)}`,
    ),
  };
}

describe('a file that is not UTF-8', () => {
  it('is read as Windows-1252 if it can be, and the report says so', async (t) => {
    const { boards, assumed } = await importLog(t, logWith('Caf\xe9'));
    assert.deepEqual(boards, ['Café']);
    assert.deepEqual(assumed, [`1 ${NOT_UTF8} log.csv:2`]);
  });

  for (const byte of ['\x81', '\x8d', '\x8f', '\x90', '\x9d']) {
    const name = byte.charCodeAt(0).toString(16).toUpperCase();
    it(`is refused with the byte ${name}, and names the option`, async (t) => {
      const { problems, records } = await importLog(t, logWith(byte));
      const reason = `is neither UTF-8 nor Windows-1252 (byte ${name}); give the code page of the file, like --encoding shift_jis`;
      assert.deepEqual(problems, [['log.csv', 2, '', reason]]);
      assert.deepEqual(records, []);
    });
  }

  for (const [encoding, title, expected] of [
    ['shift_jis', '\x8d\x82\x8d\x5a', '高校'],
    ['gbk', '\xd6\xb2\xce\xef', '植物'],
    ['iso-8859-2', '\xb1\xea', 'ąę'],
  ] as const) {
    it(`is read in ${encoding} if the option says so`, async (t) => {
      const { boards, assumed } = await importLog(t, logWith(title), encoding);
      assert.deepEqual(boards, [expected]);
      assert.deepEqual(assumed, []);
    });
  }

  it('is read in UTF-16 if the option says so', async (t) => {
    const log = Buffer.from(`\ufeff${textWith('高校')}`, 'utf16le');
    assert.deepEqual((await importLog(t, log, 'utf-16le')).boards, ['高校']);
  });

  it('is read in UTF-8 if it begins with its mark, whatever the option says', async (t) => {
    const log = `\ufeff${textWith('高校')}`;
    assert.deepEqual((await importLog(t, log, 'shift_jis')).boards, ['高校']);
  });

  it('is refused where the named code page does not define a byte', async (t) => {
    const { problems } = await importLog(t, logWith('\xff'), 'shift_jis');
    assert.deepEqual(problems, [
      ['log.csv', 2, '', 'has bytes that shift_jis does not define; check --encoding'],
    ]);
  });

  it('is refused, with its line, if the standard of the format requires UTF-8', async (t) => {
    const files = {
      'manifest.csv': 'propertyName,value\noneroster.version,1.2\nfile.users,bulk\n',
      'users.csv': Buffer.from(
        'sourcedId,username,givenName,familyName\nu1,ito,\x89\xd4,\x88\xc9\n',
        'latin1',
      ),
    };
    const refused = await importFiles(t, files, { foreign: { format: oneroster, options: {} } });
    const reason = 'is not UTF-8; save the file as UTF-8, which Excel calls "CSV UTF-8"';
    assert.deepEqual(problemsOf(refused), [['users.csv', 2, '', reason]]);
    const foreign = { format: oneroster, options: {}, encoding: 'shift_jis' };
    const { report, store } = await importFiles(t, files, { foreign });
    assert.deepEqual(report.problems, []);
    const names = store.published.map(({ record }) => Reflect.get(record, 'firstName'));
    assert.ok(names.includes('花'));
  });
});
