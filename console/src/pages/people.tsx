/** Everybody whom the key may see, with what they did in the range. */
import { useMemo } from 'react';
import type { Person, RankedPerson } from '../api/answers.ts';
import { pathWith } from '../api/client.ts';
import { MOST_LISTED, useAnswer, usePeople } from '../api/queries.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { nameOf, PersonLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { capitalize, formatCount, formatDate, formatNumber } from '../view/format.ts';
import { matches } from '../view/matches.ts';
import { useParameters, useRange } from '../view/use-view.ts';

const MOST_RANKED = 1000;

interface Row {
  readonly person: Person;
  /** Undefined for who is not among those that were ranked. */
  readonly events: number | undefined;
  readonly boards: number | undefined;
  readonly last: string | undefined;
}

export function PeoplePage() {
  const { start, end, zone } = useRange();
  const [parameters, change] = useParameters();
  const wanted = parameters.get('q') ?? '';
  const people = usePeople();
  const ranked = useAnswer<readonly RankedPerson[]>(
    pathWith('/insights/v1/users', { start, end, top: MOST_RANKED }),
  );
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
    count >= MOST_LISTED ? `The first ${formatNumber(count)} people` : formatCount(count, 'person', 'people');
  return (
    <Page
      title="People"
      note={people.data && note}
      tools={
        <SearchField
          name="Find a person"
          value={wanted}
          onChange={(q) => change({ q })}
          found={found.length}
        />
      }
    >
      <Loaded answer={ranked} height={480}>
        {() => (
          <Loaded
            answer={people}
            height={480}
            isEmpty={(all) => all.length === 0}
            empty="No people for this key"
          >
            {() =>
              found.length === 0 ? (
                <Empty title="Nobody is called so" />
              ) : (
                <DataTable
                  caption="People"
                  columns={columnsIn(zone)}
                  rows={found}
                  rowKey={({ person }) => person.id}
                  initialSort={{ key: 'events', isDown: true }}
                />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

function rowsOf(people: readonly Person[], ranked: readonly RankedPerson[]): readonly Row[] {
  const figures = new Map(ranked.map((entry) => [entry.user.id, entry]));
  // Who is not among the first thousand has fewer events than they, but not none.
  const others = ranked.length < MOST_RANKED ? 0 : undefined;
  return people.map((person) => {
    const { events = others, boards = others, last } = figures.get(person.id) ?? {};
    return { person, events, boards, last };
  });
}

const orDash = (value: number | undefined) => (value === undefined ? '–' : formatNumber(value));

function columnsIn(zone: string): readonly Column<Row>[] {
  return [
    {
      key: 'person',
      title: 'Person',
      sort: ({ person }) => nameOf(person),
      render: ({ person }) => <PersonLink person={person} />,
    },
    {
      key: 'email',
      title: 'E-mail',
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
    {
      key: 'events',
      title: 'Events',
      width: '6.5rem',
      isNumber: true,
      sort: ({ events }) => events ?? -1,
      render: ({ events }) => orDash(events),
    },
    {
      key: 'boards',
      title: 'Boards',
      width: '6.5rem',
      isNumber: true,
      isMinor: true,
      sort: ({ boards }) => boards ?? -1,
      render: ({ boards }) => orDash(boards),
    },
    {
      key: 'last',
      title: 'Latest',
      width: '8.5rem',
      isNumber: true,
      isMinor: true,
      sort: ({ last }) => (last === undefined ? 0 : Date.parse(last)),
      render: ({ last }) => (last === undefined ? '–' : formatDate(last, zone)),
    },
  ];
}
