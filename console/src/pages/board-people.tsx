/** The users who are active on a board. */
import type { RankedPerson } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { Card } from '../parts/card.tsx';
import { countColumn, latestColumn } from '../parts/columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { PersonLink } from '../parts/links.tsx';
import { Loaded } from '../parts/states.tsx';
import { capitalize, formatCount, formatNumber } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';

const MOST = 1000;

export function BoardPeople({ id }: { readonly id: string }) {
  const { start, end, clock } = useRange();
  const answer = useFigures('rankUsers', { board: id, start, end, top: MOST });
  const columns: Column<RankedPerson>[] = [
    {
      key: 'person',
      title: 'User',
      sort: ({ user }) => user.name,
      render: ({ user }) => <PersonLink person={user} />,
    },
    {
      key: 'role',
      title: 'Role',
      width: '8rem',
      isMinor: true,
      sort: ({ user }) => user.role,
      render: ({ user }) => capitalize(user.role),
    },
    countColumn('events', 'Events', ({ events }) => events, { width: '7rem' }),
    latestColumn(clock, ({ last }) => last),
  ];
  const count = answer.data?.length ?? 0;
  return (
    <Card
      title="Users"
      note={
        answer.data &&
        (count === MOST ? `${formatNumber(MOST)} most active users` : formatCount(count, 'active user'))
      }
    >
      <Loaded
        answer={answer}
        height={400}
        isEmpty={(people) => people.length === 0}
        empty="No active users in this range"
      >
        {(people) => (
          <DataTable
            caption="Users"
            columns={columns}
            rows={people}
            rowKey={({ user }) => user.id}
            initialSort={{ key: 'events', isDown: true }}
          />
        )}
      </Loaded>
    </Card>
  );
}
