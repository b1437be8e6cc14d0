/** All users that the key can see, with their activity in the range. */
import { useMemo } from 'react';
import type { Person, RankedPerson } from '../api/answers.ts';
import { MOST_LISTED, useFigures, usePeople } from '../api/queries.ts';
import { countColumn, latestColumn } from '../parts/columns.tsx';
import type { Column } from '../parts/data-table.tsx';
import { nameOf, PersonLink } from '../parts/links.tsx';
import { SearchedPage } from '../parts/searched-page.tsx';
import type { Clock } from '../view/clock.ts';
import { capitalize, countFound, formatNumber } from '../view/format.ts';
import { matches } from '../view/matches.ts';
import { useParameters, useRange } from '../view/use-view.ts';

const MOST_RANKED = 1000;

interface Row {
  readonly person: Person;
  /** Undefined if the user is not among the ranked ones. */
  readonly events: number | undefined;
  readonly boards: number | undefined;
  readonly last: string | undefined;
}

export function PeoplePage() {
  const { start, end, clock } = useRange();
  const [parameters, change] = useParameters();
  const wanted = parameters.get('q') ?? '';
  const people = usePeople();
  const ranked = useFigures('rankUsers', { start, end, top: MOST_RANKED });
  const rows = useMemo(() => rowsOf(people.data ?? [], ranked.data ?? []), [people.data, ranked.data]);
  const found = useMemo(
    () =>
      rows.filter(({ person }) =>
        matches(`${person.name} ${person.email} ${person.role} ${person.id}`, wanted),
      ),
    [rows, wanted],
  );
  const count = people.data?.length ?? 0;
  const note =
    count >= MOST_LISTED ? `First ${formatNumber(count)} users` : countFound(found.length, count, 'user');
  return (
    <SearchedPage
      title="Users"
      note={people.data && note}
      find="Search users"
      wanted={wanted}
      onWanted={(q) => change({ q })}
      figures={ranked}
      all={people}
      rows={found}
      columns={columnsIn(clock)}
      rowKey={({ person }) => person.id}
      none="No users visible to this API key"
      noneFound="No users match"
    />
  );
}

function rowsOf(people: readonly Person[], ranked: readonly RankedPerson[]): readonly Row[] {
  const figures = new Map(ranked.map((entry) => [entry.user.id, entry]));
  // A user who is not among the first thousand has an unknown number of events.
  const others = ranked.length < MOST_RANKED ? 0 : undefined;
  return people.map((person) => {
    const { events = others, boards = others, last } = figures.get(person.id) ?? {};
    return { person, events, boards, last };
  });
}

function columnsIn(clock: Clock): readonly Column<Row>[] {
  return [
    {
      key: 'person',
      title: 'User',
      sort: ({ person }) => nameOf(person),
      render: ({ person }) => <PersonLink person={person} />,
    },
    {
      key: 'email',
      title: 'Email',
      isMinor: true,
      sort: ({ person }) => person.email,
      render: ({ person }) => person.email,
    },
    {
      key: 'role',
      title: 'Role',
      width: '7rem',
      isMinor: true,
      sort: ({ person }) => person.role,
      render: ({ person }) => capitalize(person.role),
    },
    countColumn('events', 'Events', ({ events }) => events, { width: '6.5rem' }),
    countColumn('boards', 'Boards', ({ boards }) => boards, { width: '6.5rem', isMinor: true }),
    latestColumn(clock, ({ last }) => last),
  ];
}
