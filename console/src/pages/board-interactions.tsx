/** The interactions between users on a board. */
import { useState } from 'react';
import type { Interactions, Person } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { Network } from '../charts/network.tsx';
import { Card, Choice } from '../parts/card.tsx';
import { countColumn } from '../parts/columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { PersonLink } from '../parts/links.tsx';
import { Loaded } from '../parts/states.tsx';
import { formatCount } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';

const SIZES = ['50', '100', '200', '400'] as const;

export function BoardInteractions({ id }: { readonly id: string }) {
  const { start, end } = useRange();
  const [size, setSize] = useState<(typeof SIZES)[number]>('100');
  const answer = useFigures('interactions', { board: id, start, end, top: Number(size) });
  const { data } = answer;
  const note =
    data &&
    `${formatCount(data.events, 'event')} between ${formatCount(data.pairs, 'pair')} of users; ${formatCount(data.own_events, 'event')} of users on their own content`;
  return (
    <div className="stack">
      <Card
        title="Interactions between users"
        note={note}
        tools={
          <Choice
            name="Number of pairs"
            value={size}
            options={SIZES.map((one) => [one, `Top ${one} pairs`])}
            onChange={setSize}
          />
        }
      >
        <Loaded
          answer={answer}
          height={480}
          isEmpty={({ edges }) => edges.length === 0}
          empty="No interactions between users in this range"
        >
          {(graph) => <Network data={graph} />}
        </Loaded>
      </Card>
      {data !== undefined && data.edges.length > 0 && <Pairs data={data} />}
    </div>
  );
}

interface Pair {
  readonly actor: Person;
  readonly owner: Person;
  readonly events: number;
}

function Pairs({ data }: { readonly data: Interactions }) {
  const people = new Map(data.people.map((person) => [person.id, person]));
  const rows = data.edges.flatMap((edge): Pair[] => {
    const [actor, owner] = [people.get(edge.actor), people.get(edge.owner)];
    return actor === undefined || owner === undefined ? [] : [{ actor, owner, events: edge.events }];
  });
  const columns: Column<Pair>[] = [
    {
      key: 'actor',
      title: 'Actor',
      sort: ({ actor }) => actor.name,
      render: ({ actor }) => <PersonLink person={actor} />,
    },
    {
      key: 'owner',
      title: 'Owner',
      sort: ({ owner }) => owner.name,
      render: ({ owner }) => <PersonLink person={owner} />,
    },
    countColumn('events', 'Events', ({ events }) => events, { width: '6rem' }),
  ];
  return (
    <Card title="Pairs">
      <DataTable
        caption="Pairs"
        columns={columns}
        rows={rows}
        rowKey={({ actor, owner }) => `${actor.id} ${owner.id}`}
        initialSort={{ key: 'events', isDown: true }}
      />
    </Card>
  );
}
