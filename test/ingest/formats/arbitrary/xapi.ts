/** Statements of the Experience API. */
import fc from 'fast-check';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
import { xapi } from '../../../../src/ingest/formats/xapi.ts';
import {
  courseOf,
  type Documents,
  damaged,
  has,
  linesOf,
  momentOf,
  numbered,
  ownerOf,
  page,
  partial,
  person,
  plain,
} from './documents.ts';

const IDENTITIES: readonly ((number: number) => object)[] = [
  (number) => ({ mbox: `mailto:person${number}@x.example` }),
  (number) => ({ account: { homePage: 'https://x.example', name: `person${number}` } }),
  (number) => ({ openid: `https://x.example/people/${number}` }),
  (number) => ({ mbox_sha1sum: `${number}`.repeat(40) }),
];

const agent = (number: number) =>
  partial({ name: `Given person ${number}`, objectType: 'Agent' }).map((more) => ({
    ...IDENTITIES[number % IDENTITIES.length]?.(number),
    ...more,
  }));
const group = fc.constant({ objectType: 'Group', member: [{ mbox: 'mailto:person1@x.example' }] });

/** A text in a language map. */
const inLanguage = (text: string) => fc.constantFrom({ en: text }, { 'en-US': text, de: 'Anders' });

const activity = (number: number) =>
  fc
    .tuple(inLanguage(`Given page ${number}`), inLanguage(`Text of page ${number}`))
    .chain(([name, description]) =>
      partial({ name, description, type: 'http://adlnet.gov/expapi/activities/media' }),
    )
    .chain((definition) => partial({ definition, objectType: 'Activity' }))
    .map((more) => ({ id: `https://x.example/pages/${number}`, ...more }));

const course = (number: number) =>
  inLanguage(`Given course ${number}`)
    .chain((name) => partial({ name }))
    .map((more) => ({
      id: `https://x.example/courses/${number}`,
      definition: { type: 'https://w3id.org/xapi/cmi5/activitytype/course', ...more },
    }));
/** The course as its identifier alone. */
const bareCourse = (number: number) => fc.constant({ id: `https://x.example/courses/${number}` });

const context = (number: number) =>
  fc
    .tuple(
      fc.oneof(course(courseOf(number)), bareCourse(courseOf(number))),
      fc.oneof(agent(ownerOf(number)), group),
    )
    .chain(([around, instructor]) =>
      fc
        .constantFrom({ parent: around }, { grouping: [around] }, { grouping: around, parent: [around] }, {})
        .chain((contextActivities) => partial({ contextActivities, instructor, platform: 'x' })),
    );

const object = (number: number) =>
  fc.oneof(
    { arbitrary: activity(number), weight: 6 },
    { arbitrary: course(courseOf(number)), weight: 2 },
    { arbitrary: fc.constant({ objectType: 'StatementRef', id: 'urn:uuid:1' }), weight: 1 },
  );

const VERBS = ['http://adlnet.gov/expapi/verbs/experienced', 'http://x.example/verbs#asked'];
const verb = fc
  .constantFrom(...VERBS, 'http://adlnet.gov/expapi/verbs/voided')
  .chain((id) => partial({ display: { en: 'did' } }).map((more) => ({ id, ...more })));

const statement = (number: number): fc.Arbitrary<FormatSource> =>
  fc.tuple(page, person).chain(([about, who]) =>
    fc
      .record({
        actor: fc.oneof({ arbitrary: agent(who), weight: 9 }, { arbitrary: group, weight: 1 }),
        verb,
        object: object(about),
        context: fc.option(context(about), { nil: undefined, freq: 9 }),
        time: fc.constantFrom('timestamp', 'stored', '@timestamp'),
        more: partial({ id: `00000000-0000-4000-8000-${number}`, version: '1.0.3' }),
      })
      .map(({ time, more, ...told }) => plain({ ...told, ...more, [time]: momentOf(number) })),
  );

const REQUIRED = ['actor', 'verb', 'object'];

export const statements: Documents = {
  format: xapi,
  options: {},
  records: numbered((number) => damaged(statement(number), REQUIRED)),
  isValid: (record) => has(record, REQUIRED),
  write: linesOf,
  countOf: () => 1,
};
