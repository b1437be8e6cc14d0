/** Responses for redacting keys when visible fields were derived from hidden ones (decision 63). */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NO_REDACTION, REDACTABLE } from '../../src/domain/redaction.ts';
import { caliper } from '../../src/ingest/formats/caliper.ts';
import type { Format } from '../../src/ingest/formats/format.ts';
import { xapi } from '../../src/ingest/formats/xapi.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { allRedactions } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, nextOf } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { assertProblem, head, openStand, type RawReply, type Stand, sendRaw } from '../server/stand.ts';

const COURSE = 'https://x.example/course';
const SHA1 = 'ebd31e95054c018b10727ccffd2ef2ec3a016ee9';

function statement(actor: object, at: number): object {
  return {
    id: `00000000-0000-4000-8000-00000000000${at}`,
    actor,
    verb: { id: 'http://x.example/verbs/viewed' },
    object: { id: 'https://x.example/page' },
    context: { contextActivities: { parent: [{ id: COURSE }] } },
    timestamp: '2024-01-02T03:04:05Z',
  };
}

const STATEMENTS = [
  { mbox: 'mailto:ada.lovelace@uni.example' },
  { account: { homePage: 'https://login.uni.example', name: 'hopper1906' } },
  { openid: 'https://openid.uni.example/noether' },
  { mbox_sha1sum: SHA1 },
].map(statement);

const ENVELOPE = {
  sensor: 'https://x.example/sensor',
  sendTime: '2024-01-02T03:04:05Z',
  dataVersion: 'http://purl.imsglobal.org/ctx/caliper/v1p1',
  data: [
    {
      '@context': 'http://purl.imsglobal.org/ctx/caliper/v1p1',
      ...{ id: 'urn:uuid:1', type: 'ViewEvent', action: 'Viewed', eventTime: '2024-01-02T03:04:05Z' },
      actor: { id: 'mailto:kovalevskaya@uni.example', type: 'Person' },
      object: { id: 'https://x.example/page', type: 'WebPage' },
      group: { id: COURSE, type: 'CourseOffering' },
    },
  ],
};

/** Names as imports made them before ids were derived with the secret of the organization. */
const PLAINLY_DERIVED = [
  { id: 1594432973042154n, email: 'ada.byron@uni.example', name: 'ada.byron' },
  { id: 2594432973042154n, email: '2594432973042154@login.uni.example.invalid', name: 'hopper1952' },
  { id: 3594432973042154n, email: '3594432973042154@openid.invalid', name: 'https://uni.example/noether' },
  { id: 4594432973042154n, email: '4594432973042154@sha1.invalid', name: SHA1 },
  { id: 5594432973042154n, email: '5594432973042154@caliper.invalid', name: 'mailto:sofia@uni.example' },
];

const SHOWING = [
  ...PLAINLY_DERIVED,
  { id: 1n, email: 'curie@uni.example', name: 'Curie' },
  {
    id: 2n,
    email: 'meitner@uni.example',
    name: 'L. Meitner',
    first_name: 'Lise',
    last_name: 'meitner@uni.example',
  },
  { id: 123456n, email: 'x4@uni.example', name: 'Student 123456' },
];
const USERS = [...SHOWING, { id: 3n, email: 'x3@uni.example', name: 'Emmy Franklin' }];

/** Texts that identify users; the last alternatives were given as names. */
const SECRETS =
  /lovelace|byron|hopper19|noether|ebd31e95|kovalevskaya|sofia|curie|meitner|Lise|Student 123456|uni\.example/i;

const PATHS = ['/a/v1/users', '/b/v1/users', '/a/v1/events'];

describe('a key that redacts addresses', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
    await deployment.load('school', { ...EMPTY_BUNDLE, users: USERS });
    await load('statements', xapi, STATEMENTS);
    await load('envelopes', caliper, [ENVELOPE]);
  });
  after(() => deployment.close());

  async function load(name: string, format: Format, records: readonly object[]): Promise<void> {
    const path = join(deployment.folder, name, 'records.ndjson');
    await mkdir(join(deployment.folder, name));
    await writeFile(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    const { store } = deployment;
    const report = await importBundle({
      ...{ store, organization: 'school', paths: [path] },
      foreign: { format, options: {} },
    });
    assert.equal(report.problemCount, 0, JSON.stringify(report.problems));
  }

  it('gets no name that reveals an address or an identifier, and every other name', async () => {
    const key = await deployment.makeKey('school', { redact: { email: true, name: false, id: false } });
    for (const path of PATHS) {
      for (const format of ['json', 'ndjson', 'csv', 'parquet']) {
        const { status, text } = await get(`${deployment.url}${path}?format=${format}`, key, {
          accept: '*/*',
        });
        assert.equal(status, 200, path);
        assert.doesNotMatch(text, SECRETS, `${path} as ${format}`);
      }
    }
    const insights = await get(`${deployment.url}/insights/v1/users`, key);
    assert.match(insights.text, /Person /);
    assert.doesNotMatch(insights.text, SECRETS);
    const names = await namesFor(key);
    for (const { id } of SHOWING) assert.match(names.get(String(id)) ?? '', /^Person [A-Z2-7]{8}$/, `${id}`);
    assert.equal(names.get('3'), 'Emmy Franklin');
    assert.equal(names.get('0'), 'Unknown');
  });

  it('gets the same pseudonyms as a key that also redacts names', async () => {
    const both = await deployment.makeKey('school', { redact: { email: true, name: true, id: false } });
    const email = await deployment.makeKey('school', { redact: { email: true, name: false, id: false } });
    const [seen, shown] = [await namesFor(both), await namesFor(email)];
    for (const { id } of SHOWING) assert.equal(shown.get(String(id)), seen.get(String(id)));
  });

  /** Names of users by id. */
  async function namesFor(key: string): Promise<ReadonlyMap<string, string>> {
    const { text } = await get(`${deployment.url}/b/v1/users`, key);
    const found = text.matchAll(/"id":(\d+),.*?"name":"(.*?)"/g);
    return new Map([...found].map(([, id = '', name = '']) => [id, name]));
  }
});

describe('a look-up by an LMS property', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
  });
  after(() => stand.close());

  const LOOKUPS = ['/sis/B-1', '/sis/unknown', '/login/B-1', '/no%20such/x'];

  async function lookUp(path: string, apikey: string, headers = {}): Promise<RawReply> {
    const fields = { apikey, ...headers };
    return await sendRaw(stand.port, head('GET', `/a/v1/lms_user${path}/points`, fields));
  }

  for (const field of REDACTABLE) {
    it(`is refused for a key that redacts ${field}, with the same problem for all properties and values`, async () => {
      const redact = { ...NO_REDACTION, [field]: true };
      const allowed = await stand.makeKey({ redact, allowLmsLookup: true });
      const refused = await stand.makeKey({ redact });
      const found = await lookUp(LOOKUPS[0]!, allowed);
      assert.equal(found.status, 200);
      assertProblem(await lookUp(LOOKUPS[1]!, allowed), 404, 'not-found');
      assertProblem(await lookUp(LOOKUPS[2]!, allowed), 404, 'lookup-not-configured');
      // A response that the other key got, twice so that it is in the cache, is not given to a key
      // that may not request it.
      const etag = (await lookUp(LOOKUPS[0]!, allowed)).headers.get('etag') ?? '';
      const problems = [];
      for (const path of LOOKUPS) {
        for (const headers of [{}, { 'if-none-match': etag }, { 'if-none-match': '*' }]) {
          const { instance, request_id, ...told } = assertProblem(
            await lookUp(path, refused, headers),
            403,
            'lookup-not-allowed',
          );
          problems.push(told);
        }
      }
      for (const problem of problems) assert.deepEqual(problem, problems[0]);
    });
  }

  it('is allowed for a key that redacts nothing', async () => {
    assert.equal((await lookUp(LOOKUPS[0]!, stand.key)).status, 200);
  });
});

describe('a cursor', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
  });
  after(() => stand.close());

  it('is accepted from a key with the same redaction, and refused from any other key', async () => {
    const redactions = allRedactions();
    const keys = await Promise.all(redactions.map((redact) => stand.makeKey({ redact })));
    const again = await Promise.all(redactions.map((redact) => stand.makeKey({ redact })));
    for (const path of ['/a/v1/users?limit=1', '/a/v1/events?limit=1']) {
      for (const [place, key] of keys.entries()) {
        const next = nextOf(await get(stand.url + path, key)) ?? '';
        assert.notEqual(next, '');
        for (const [other, apikey] of again.entries()) {
          const { status, text } = await get(stand.url + next, apikey);
          assert.equal(status, place === other ? 200 : 400, text);
          if (place !== other) assert.match(text, /"cursor-scope-changed"/);
        }
      }
    }
  });
});
