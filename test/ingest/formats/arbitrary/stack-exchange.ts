/** Rows of the data dump of a Stack Exchange site. */
import fc from 'fast-check';
import type { FormatSource } from '../../../../src/ingest/formats/format.ts';
import { stackExchange } from '../../../../src/ingest/formats/stack-exchange.ts';
import { row, table } from '../stack-exchange-dump.ts';
import {
  type Documents,
  damaged,
  has,
  momentOf,
  numbered,
  ownerOf,
  page,
  partial,
  person,
} from './documents.ts';

const FILES = ['Posts', 'Users', 'Comments', 'Votes'];
const dateOf = (number: number) => momentOf(number).replace('Z', '');

const question = page.chain((id) =>
  partial({ Title: `Given page ${id}`, Tags: `|tag${id}|sky|`, Body: `Text of page ${id}`, Score: '1' }).map(
    (more) => ({ Id: id, PostTypeId: 1, CreationDate: dateOf(id), OwnerUserId: ownerOf(id), ...more }),
  ),
);
const answer = (number: number) =>
  fc.tuple(page, person).chain(([about, who]) =>
    partial({ OwnerUserId: who, Body: 'x' }).map((more) => ({
      ...{ Id: 100 + number, PostTypeId: number % 5 === 0 ? 5 : 2, ParentId: about },
      ...{ CreationDate: dateOf(number), ...more },
    })),
  );
const comment = (number: number) =>
  fc.tuple(page, person).chain(([about, who]) =>
    partial({ UserId: who, Text: 'a < b' }).map((more) => ({
      ...{ Id: number, PostId: about, CreationDate: dateOf(number) },
      ...more,
    })),
  );
const vote = (number: number) =>
  fc.tuple(page, person, fc.constantFrom(1, 2, 5, 16)).chain(([about, who, type]) =>
    partial({ UserId: who }).map((more) => ({
      ...{ Id: number, PostId: about, VoteTypeId: type, CreationDate: dateOf(number) },
      ...more,
    })),
  );
const user = person.chain((id) =>
  partial({ DisplayName: `Given person ${id}` }).map((more) => ({
    Id: id,
    CreationDate: dateOf(id),
    ...more,
  })),
);

const REQUIRED = ['Id', 'CreationDate'];
const of = (name: string, attributes: fc.Arbitrary<FormatSource>): fc.Arbitrary<FormatSource> =>
  damaged(attributes, REQUIRED).map((one) => ({ [name.toLowerCase()]: one }));

const record = (number: number) =>
  fc.oneof(
    of('Posts', question),
    of('Posts', answer(number)),
    of('Comments', comment(number)),
    of('Votes', vote(number)),
    of('Users', user),
  );

export const dump: Documents = {
  format: stackExchange,
  options: {},
  // A dump contains each question once.
  records: numbered(record).map((records) => {
    const seen = new Set<unknown>();
    return records.filter(({ posts }) => {
      const { Id: id, PostTypeId: type } = Object(posts);
      if (type !== 1 || !seen.has(id)) return seen.add(type === 1 ? id : {});
      return false;
    });
  }),
  isValid: (record) => Object.values(record).every((one) => has(Object(one), REQUIRED)),
  write: (records) =>
    FILES.map((name) => {
      const own = records.filter((one) => name.toLowerCase() in one);
      const rows = own.map((one) => row(Object(one[name.toLowerCase()])));
      return { name: `${name}.xml`, text: table(name.toLowerCase(), rows), firstLine: 3, records: own };
    }),
  countOf: () => 1,
};
