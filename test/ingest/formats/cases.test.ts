/**
 * What becomes of files like those in public reports about imports, counted by hand. Those of
 * Moodle are read in moodle-pages.test.ts as well, in more detail.
 */
import assert from 'node:assert/strict';
import { basename, join } from 'node:path';
import { it } from 'node:test';
import { FORMATS } from '../../../src/ingest/formats/formats.ts';
import { importBundle } from '../../../src/ingest/import.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { makeFolder } from '../temporary-folder.ts';
import { problemsOf } from './school.ts';

interface Expected {
  /** Absent for a bundle. */
  readonly as?: keyof typeof FORMATS;
  readonly events?: Readonly<Record<string, number>>;
  /** Records that were dropped, by the beginning of the reason. */
  readonly dropped?: Readonly<Record<string, number>>;
  readonly altered?: number;
  /** Events, users, boards and pins; users include the unknown owner. Absent: refused. */
  readonly counts?: readonly [number, number, number, number];
  readonly problems?: readonly string[];
}

const CASES: Readonly<Record<string, Expected>> = {
  'moodle-site.csv': {
    as: 'moodle-log',
    events: { 'board.visited': 2 },
    dropped: { 'names no course, in a log of several': 2 },
    counts: [2, 3, 2, 0],
  },
  'moodle-no-user.csv': {
    as: 'moodle-log',
    events: { 'board.visited': 1 },
    dropped: { 'names no user': 2 },
    counts: [1, 2, 1, 0],
  },
  'moodle-spanish.csv': { as: 'moodle-log', events: { 'board.visited': 1 }, counts: [1, 2, 1, 0] },
  'moodle-semicolons.csv': { as: 'moodle-log', events: { 'board.visited': 1 }, counts: [1, 2, 1, 0] },
  'moodle-enrolment.csv': {
    as: 'moodle-log',
    events: { 'board.followed': 1, 'board.unfollowed': 1 },
    counts: [2, 2, 1, 0],
  },
  'moodle-forum.csv': {
    as: 'moodle-log',
    events: { 'board.visited': 1, 'pin.commented': 1 },
    dropped: { 'repeats another row': 2, 'is not mapped to an event': 1 },
    counts: [2, 2, 1, 1],
  },
  // Of four people who enrol, three leave the course, and one only a group in it.
  'xapi-leaving.ndjson': {
    as: 'xapi',
    events: { 'board.followed': 4, 'board.unfollowed': 3, 'pin.unfollowed': 1 },
    counts: [8, 5, 1, 1],
  },
  'xapi-replies.ndjson': {
    as: 'xapi',
    events: { 'pin.created': 1, 'pin.commented': 2 },
    counts: [3, 4, 1, 1],
  },
  'xapi-statement-result.json': { as: 'xapi', events: { 'pin.completed': 2 }, counts: [2, 2, 1, 1] },
  'caliper-course-in-extensions.json': { as: 'caliper', events: { 'pin.visited': 1 }, counts: [1, 2, 1, 1] },
  'caliper-canvas.json': {
    as: 'caliper',
    events: { 'pin.created': 1, 'pin.commented': 1, 'pin.visited': 1 },
    dropped: { 'is not by a person': 1, 'has a profile that is not imported': 2 },
    counts: [3, 3, 2, 2],
  },
  'roster-in-shift-jis': {
    as: 'oneroster',
    problems: ['users.csv:2: : is not UTF-8; save the file as UTF-8, which Excel calls "CSV UTF-8"'],
  },
  'roster-deleted-class': {
    as: 'oneroster',
    problems: ['enrollments.csv:3: classSourcedId: "C2" is deleted by classes.csv:3'],
  },
  'roster-shared-email': { as: 'oneroster', altered: 1, counts: [0, 3, 1, 0] },
  'stack-exchange-control-character': {
    as: 'stack-exchange',
    events: { 'pin.created': 2, 'pin.commented': 1 },
    counts: [3, 2, 1, 2],
  },
  'discourse-deleted-user': {
    as: 'discourse',
    events: { 'pin.created': 1, 'pin.commented': 2 },
    dropped: { 'names no user': 3, 'is not a post': 1 },
    counts: [3, 3, 1, 2],
  },
  'offset-of-hours': { counts: [2, 1, 1, 0] },
};

for (const [name, expected] of Object.entries(CASES)) {
  it(`${name}${expected.as === undefined ? '' : `, ${expected.as}`}`, async (t) => {
    const store = await openFolderStore(join(await makeFolder(t), 'data'));
    t.after(() => store.close());
    const options = { timeZone: 'UTC', dateOrder: 'dmy' } as const;
    const report = await importBundle({
      ...{ store, organization: 'school', paths: [join(import.meta.dirname, 'cases', name)] },
      foreign: expected.as && { format: FORMATS[expected.as], options },
    });
    const { translated, counts } = report;
    const dropped = new Map<string, number>();
    for (const { reason, count } of translated?.dropped ?? []) {
      const known = Object.keys(expected.dropped ?? {}).find((beginning) => reason.startsWith(beginning));
      dropped.set(known ?? reason, (dropped.get(known ?? reason) ?? 0) + count);
    }
    assert.deepEqual(
      {
        events: translated?.events ?? {},
        dropped: Object.fromEntries(dropped),
        altered: (translated?.altered ?? []).reduce((sum, { count }) => sum + count, 0),
        counts: counts && [counts.events, counts.users, counts.boards, counts.pins],
        problems: problemsOf(report),
      },
      {
        ...{ events: {}, dropped: {}, altered: 0, counts: undefined, problems: [] },
        ...Object.fromEntries(Object.entries(expected).filter(([member]) => member !== 'as')),
      },
      basename(name),
    );
  });
}
