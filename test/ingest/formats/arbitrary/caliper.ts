/** Envelopes of Caliper, and single events and entities. */
import fc from 'fast-check';
import { caliper } from '../../../../src/ingest/formats/caliper.ts';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
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

const CONTEXT = 'http://purl.imsglobal.org/ctx/caliper/v1p2';
const context = fc.constantFrom<unknown>(
  CONTEXT,
  [CONTEXT, 'http://x.example/ctx'],
  `${CONTEXT}/ViewProfile`,
);

/** An entity in full, in part, or as its identifier alone. */
const named = (
  entity: Readonly<{ id: string; type: string }>,
  more: Readonly<Record<string, unknown>>,
): fc.Arbitrary<string | FormatSource> =>
  fc.oneof(
    fc.constant(entity.id),
    partial(more).map((rest) => ({ ...entity, ...rest })),
  );

const addressesOf = (number: number) => [
  { type: 'SystemIdentifier', identifierType: 'LisSourcedId', identifier: `x:${number}` },
  { type: 'SystemIdentifier', identifierType: 'EmailAddress', identifier: `person${number}@x.example` },
];
const personEntity = (number: number) =>
  named(
    { id: `https://x.example/users/${number}`, type: 'Person' },
    { name: `Given person ${number}`, otherIdentifiers: addressesOf(number), dateCreated: momentOf(1) },
  );
const courseEntity = (number: number) =>
  named(
    { id: `https://x.example/sections/${number}`, type: 'CourseSection' },
    { name: `Given course ${number}`, courseNumber: 'C' },
  );

/** Pages with even numbers are threads, with messages. */
const isThread = (number: number) => number % 2 === 0;
const pageEntity = (number: number) =>
  fc.tuple(courseEntity(courseOf(number)), personEntity(ownerOf(number))).chain(([course, creator]) =>
    named(
      { id: `https://x.example/pages/${number}`, type: isThread(number) ? 'Thread' : 'WebPage' },
      {
        ...{ name: `Given page ${number}`, description: `Text of page ${number}`, creators: [creator] },
        isPartOf: isThread(number)
          ? { id: 'https://x.example/forum', type: 'Forum', isPartOf: course }
          : course,
      },
    ),
  );
const messageEntity = (number: number) =>
  pageEntity(number).chain((isPartOf) =>
    partial({ name: 'A message', body: 'Hello' }).map((more) => ({
      ...{ id: `https://x.example/pages/${number}/message`, type: 'Message', isPartOf },
      ...more,
    })),
  );
const software = fc.constant({ id: 'https://x.example', type: 'SoftwareApplication', version: '2' });

const entity: fc.Arbitrary<FormatSource> = fc.tuple(page, person, context).chain(([about, who, at]) =>
  fc
    .oneof(personEntity(who), courseEntity(courseOf(about)), pageEntity(about), software)
    .filter((one) => typeof one === 'object')
    .chain((one) => partial({ '@context': at }).map((more) => ({ ...more, ...one }))),
);

/** Each person has the same role in all courses. */
const membershipOf = (number: number) =>
  personEntity(number).chain((member) =>
    partial({ member, status: 'Active', roles: [number === 1 ? 'Instructor' : 'Learner'] }).map((more) => ({
      ...{ id: `urn:${number}`, type: 'Membership', ...more },
    })),
  );

const PROFILES = [
  { type: 'ViewEvent', action: 'Viewed' },
  { type: 'NavigationEvent', action: 'NavigatedTo' },
  { type: 'SessionEvent', action: 'LoggedIn' },
];

const event = (number: number): fc.Arbitrary<FormatSource> =>
  fc.tuple(page, person).chain(([about, who]) =>
    fc
      .record({
        '@context': context,
        actor: fc.oneof({ arbitrary: personEntity(who), weight: 9 }, { arbitrary: software, weight: 1 }),
        about: fc.oneof(
          fc.record({ profile: fc.constantFrom(...PROFILES), object: pageEntity(about) }),
          fc.record({
            profile: fc.constant({ type: 'MessageEvent', action: 'Posted' }),
            object: isThread(about) ? messageEntity(about) : pageEntity(about),
          }),
        ),
        group: fc.option(courseEntity(courseOf(about)), { nil: undefined }),
        more: membershipOf(who).chain((membership) => partial({ edApp: 'https://x.example', membership })),
      })
      .map(({ about: { profile, object }, more, ...told }) =>
        plain({
          ...{ ...told, ...profile, object, ...more },
          ...{ id: `urn:uuid:${number}`, eventTime: momentOf(number) },
        }),
      ),
  );

const good = (number: number) =>
  fc.oneof({ arbitrary: event(number), weight: 3 }, { arbitrary: entity, weight: 2 });

const envelope = (number: number): fc.Arbitrary<FormatSource> =>
  fc
    .integer({ min: 0, max: 5 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => good(10 * number + at))))
    .map((data) => ({
      ...{ sensor: 'https://x.example/sensors/1', sendTime: momentOf(number) },
      ...{ dataVersion: CONTEXT, data },
    }));

const OF_ENVELOPES = ['sensor', 'sendTime'];
const OF_EVENTS = ['actor', 'object', 'eventTime', 'id'];
const listOf = ({ data }: FormatSource) => (Array.isArray(data) ? data : undefined);

export const envelopes: Documents = {
  format: caliper,
  options: {},
  records: numbered((number) =>
    fc.oneof(
      { arbitrary: damaged(envelope(number), OF_ENVELOPES), weight: 4 },
      { arbitrary: damaged(event(10 * number), OF_EVENTS), weight: 2 },
      { arbitrary: entity.map((one) => ({ '@context': CONTEXT, ...one })), weight: 1 },
    ),
  ),
  isValid(record) {
    if ('data' in record) return has(record, OF_ENVELOPES);
    return has(record, 'action' in record ? OF_EVENTS : ['id', 'type']);
  },
  write: linesOf,
  countOf: (record) => listOf(record)?.length ?? 1,
  reordered: (record) => ('data' in record ? { ...record, data: listOf(record)?.toReversed() } : record),
};
