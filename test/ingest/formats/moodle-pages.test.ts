/** Logs of Moodle in other languages, of a whole site, and with other separators. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { MEANINGS, moodleLog } from '../../../src/ingest/formats/moodle-log.ts';
import { importFiles, problemsOf } from '../imported-files.ts';
import type { StagedRecord } from '../recording-store.ts';
import { eventsOf } from './real-files.ts';

const FILES = join(import.meta.dirname, 'cases');
const OPTIONS = { timeZone: 'UTC', dateOrder: 'dmy' } as const;
const NAMES = ['Time', 'User full name', 'Affected user', 'Event context', 'Component', 'Event name'];
const HEADER = [...NAMES, 'Description', 'Origin', 'IP address'].join();
const GERMAN =
  'Zeit,Vollständiger Name,Betroffene/r Nutzer/in,Ereigniskontext,Komponente,Ereignisname,Beschreibung,Herkunft,IP-Adresse';

async function importLog(t: TestContext, log: string | Uint8Array) {
  const foreign = { format: moodleLog, options: OPTIONS };
  const imported = await importFiles(t, { 'log.csv': log }, { foreign });
  const { report, store } = imported;
  const { dropped = [], assumed = [] } = report.translated ?? {};
  const place = (examples: readonly string[]) => examples[0]?.slice(imported.folder.length + 1);
  return {
    records: store.published,
    problems: problemsOf(imported),
    dropped: dropped.map(({ reason, count, examples }) => `${count} ${place(examples)} ${reason}`),
    assumed: assumed.map(({ assumption, count, examples }) => `${count} ${place(examples)} ${assumption}`),
    events: eventsOf(store.published).map(
      ({ type, action, actorId, boardId, pinId }) =>
        `${type}.${action} by ${actorId} on ${boardId}${pinId === undefined ? '' : ` ${pinId}`}`,
    ),
    boards: titlesOf(store.published, 'boards'),
    pins: titlesOf(store.published, 'pins'),
  };
}

const titlesOf = (records: readonly StagedRecord[], kind: string) => [
  ...new Set(
    records
      .filter((one) => one.kind === kind)
      .map(({ record }) => `${Reflect.get(record, 'id')} ${Reflect.get(record, 'title')}`),
  ),
];

const NOT_ENGLISH = 'the columns under a header that is not English are in their usual order';

interface Expected {
  readonly events: readonly string[];
  readonly boards: readonly string[];
  readonly pins?: readonly string[];
  readonly dropped?: readonly string[];
  readonly assumed?: readonly string[];
}

/** Counted by hand. */
const LOGS: Readonly<Record<string, Expected>> = {
  site: {
    events: ['board.visited by 21 on 8', 'board.visited by 20 on 7'],
    boards: ['8 Botany B', '7 Algebra A'],
    dropped: [
      '2 log.csv:2 names no course, in a log of several; download the log of each: Course module viewed',
    ],
  },
  'no-user': {
    events: ['board.visited by 21 on 8'],
    boards: ['8 Botany'],
    dropped: ['2 log.csv:3 names no user'],
  },
  spanish: {
    events: ['board.visited by 21 on 8'],
    boards: ['8 Botánica'],
    assumed: [`1 log.csv:1 ${NOT_ENGLISH}`],
  },
  // As a spreadsheet has saved it.
  semicolons: {
    events: ['board.visited by 21 on 8'],
    boards: ['8 Botany'],
  },
  enrolment: {
    events: ['board.unfollowed by 21 on 8', 'board.followed by 21 on 8'],
    boards: ['8 Botany'],
  },
  forum: {
    events: ['pin.commented by 4 on 7 12', 'board.visited by 4 on 7'],
    boards: ['7 Botany'],
    pins: ['12 Talk'],
    dropped: [
      '2 log.csv:3 repeats another row: Some content has been posted.',
      '1 log.csv:2 is not mapped to an event: Post updated',
    ],
  },
};

describe('a log of Moodle', () => {
  for (const [name, { events, boards, pins = [], dropped = [], assumed = [] }] of Object.entries(LOGS)) {
    it(`is read right: ${name}.csv`, async (t) => {
      const { problems, records, ...read } = await importLog(
        t,
        await readFile(join(FILES, `moodle-${name}.csv`)),
      );
      assert.deepEqual(problems, []);
      assert.deepEqual(read, { events, boards, pins, dropped, assumed });
      assert.ok(records.length > 0);
    });
  }
});

/** As Moodle 2.7 to 5.0 write them, by the name of the event. */
const DESCRIPTIONS: readonly (readonly [name: string, deed: string])[] = [
  ['Course viewed', "viewed the course with id '7'."],
  ['Course viewed', "viewed the section number '3' of the course with id '7'."],
  [
    'Course module instance list viewed',
    "viewed the instance list for the module 'quiz' in the course with the id '7'.",
  ],
  [
    'User enrolled in course',
    "enrolled the user with id '5' using the enrolment method 'manual' in the course with id '7'.",
  ],
  [
    'User unenrolled from course',
    "unenrolled the user with id '6' using the enrolment method 'manual' from the course with id '7'.",
  ],
  ['Course module viewed', "viewed the 'page' activity with course module id '12'."],
  ['Course module viewed', "viewed the 'page' activity with the course module id '12'."],
  ['Course module created', "created the 'page' activity with course module id '12'."],
  ['Discussion viewed', "has viewed the discussion with id '70' in the forum with course module id '12'."],
  ['Discussion created', "has created the discussion with id '70' in the forum with course module id '12'."],
  [
    'Post created',
    "has created the post with id '91' in the discussion with id '70' in the forum with course module id '12'.",
  ],
  [
    'Some content has been posted.',
    "has posted content in the forum post with id '91' in the discussion '70' located in the forum with course module id '12'.",
  ],
  ['Comment created', "added the comment with id '3' to the 'mod_data' with course module id '12'."],
  ['Subscription created', "subscribed the user with id '5' to the forum with course module id '12'."],
  ['Subscription deleted', "unsubscribed the user with id '5' from the forum with course module id '12'."],
  [
    'Discussion subscription created',
    "subscribed the user with id '5' to the discussion  with id '70' in the forum with the course module id '12'.",
  ],
  [
    'Discussion subscription deleted',
    "unsubscribed the user with id '5' from the discussion  with id '70' in the forum with the course module id '12'.",
  ],
  [
    'The status of the submission has been viewed.',
    "has viewed the submission status page for the assignment with course module id '12'.",
  ],
  ['Submission form viewed.', "viewed their submission for the assignment with course module id '12'."],
  [
    'A submission has been submitted.',
    "has submitted the submission with id '2' for the assignment with course module id '12'.",
  ],
  [
    'Quiz attempt submitted',
    "has submitted the attempt with id '2' for the quiz with course module id '12'.",
  ],
  ['Quiz attempt started', "has started the attempt with id '2' for the quiz with course module id '12'."],
  [
    'Quiz attempt viewed',
    "has viewed the attempt with id '2' belonging to the user with id '4' for the quiz with course module id '12'.",
  ],
  [
    'Quiz attempt reviewed',
    "has had their attempt with id '2' reviewed by the user with id '4' for the quiz with course module id '12'.",
  ],
  [
    'Course searched',
    'has searched the course with id \'7\' for forum posts containing ""viewed the course with id \'8\'"".',
  ],
];

function rowOf(name: string, deed: string, course = 'Course'): string {
  const isCourse = /course with /.test(deed);
  const context = isCourse ? `${course}: Botany` : 'Wiki: Herbs';
  return `"14/02/25, 10:05",Ona Fir,Lim Wu,${context},X,${name},"The user with id '4' ${deed}",web,`;
}

const logOf = (header: string, rows: readonly string[]) => [header, ...rows, ''].join('\n');

describe('a log of Moodle in another language', () => {
  const english = logOf(
    HEADER,
    DESCRIPTIONS.map(([name, deed]) => rowOf(name, deed)),
  );

  it('has the same events as in English', async (t) => {
    const rows = DESCRIPTIONS.map(([, deed], at) => rowOf(`Ereignis ${at}`, deed, 'Kurs'));
    const [one, other] = [await importLog(t, english), await importLog(t, logOf(GERMAN, rows))];
    assert.deepEqual(other.records, one.records);
    assert.equal(one.events.length, DESCRIPTIONS.length - 2);
    assert.deepEqual(other.assumed, [`1 log.csv:1 ${NOT_ENGLISH}`]);
    assert.deepEqual(other.dropped, [
      '1 log.csv:13 repeats another row: Some content has been posted.',
      '1 log.csv:26 is not mapped to an event: Ereignis 24',
    ]);
    // Newer versions call the view of a section a view of the course.
    const names = new Set(['Course section viewed', ...DESCRIPTIONS.slice(0, -1).map(([name]) => name)]);
    assert.deepEqual([...names].sort(), Object.keys(MEANINGS).sort());
  });

  it('has the user who is subscribed as the actor', async (t) => {
    const { events } = await importLog(t, english);
    const followed = events.filter((event) => /pin\.(?:un)?followed/.test(event));
    assert.deepEqual(followed, [
      ...['pin.followed by 5 on 7 12', 'pin.unfollowed by 5 on 7 12'],
      ...['pin.followed by 5 on 7 12', 'pin.unfollowed by 5 on 7 12'],
    ]);
  });

  for (const [what, header] of [
    ['an index before the columns', ','],
    ['the course before the columns', 'Kurs,'],
  ] as const) {
    it(`may have ${what}`, async (t) => {
      const log = logOf(header + GERMAN, [`0,${rowOf('Kurs angezeigt', "viewed the course with id '7'.")}`]);
      assert.deepEqual((await importLog(t, log)).events, ['board.visited by 4 on 7']);
    });
  }

  for (const [what, header] of [
    ['columns are missing', GERMAN.replace(',Herkunft', '')],
    ['English columns are in other places', HEADER.replace('Time,User full name', 'User full name,Zeit')],
  ] as const) {
    it(`is refused if ${what}, and names the columns`, async (t) => {
      const { problems } = await importLog(t, `${header}\n1\n`);
      assert.equal(problems.length, 1);
      assert.match(
        String(problems[0]?.[3]),
        /^is not in the header; files of moodle-log have the columns Time, /,
      );
      assert.match(String(problems[0]?.[3]), /in this order if they have names in another language$/);
    });
  }
});

describe('a log of several courses', () => {
  const visit = (course: number) => rowOf('Course viewed', `viewed the course with id '${course}'.`);
  const page = rowOf('Course module viewed', "viewed the 'page' activity with course module id '12'.");

  it('has the modules of its course if it is only one', async (t) => {
    const restored = rowOf('Course restored', "restored old course with id '8' to a new course with id '7'.");
    const { events, dropped } = await importLog(t, logOf(HEADER, [page, restored, visit(7)]));
    assert.deepEqual(events, ['pin.visited by 4 on 7 12', 'board.visited by 4 on 7']);
    assert.deepEqual(dropped, ['1 log.csv:3 is not mapped to an event: Course restored']);
  });

  it('has titles only from rows of the same course', async (t) => {
    const other = visit(8).replace('Course: Botany', 'Other');
    const { boards } = await importLog(t, logOf(HEADER, [other, visit(7)]));
    assert.deepEqual(boards, ['8 Course 8', '7 Botany']);
  });
});
