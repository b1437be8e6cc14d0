/** The pins of a board with the most events. */
import type { RankedPins } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { Card } from '../parts/card.tsx';
import { countColumn, latestColumn } from '../parts/columns.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { PersonLink } from '../parts/links.tsx';
import { Loaded } from '../parts/states.tsx';
import type { Clock } from '../view/clock.ts';
import { formatCount, formatNumber } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';

const MOST = 1000;

type Row = RankedPins['ranked'][number];

export function BoardPins({ id }: { readonly id: string }) {
  const { start, end, clock } = useRange();
  const answer = useFigures('rankPins', { board: id, start, end, top: MOST });
  const pins = answer.data?.pins ?? 0;
  const note =
    pins > MOST
      ? `${formatNumber(MOST)} most active of ${formatCount(pins, 'pin')}`
      : formatCount(pins, 'pin');
  return (
    <Card title="Pins" note={answer.data && note}>
      <Loaded
        answer={answer}
        height={400}
        isEmpty={({ ranked }) => ranked.length === 0}
        empty="No pins in this range"
      >
        {({ ranked }) => (
          <DataTable
            caption="Pins"
            columns={columnsIn(clock)}
            rows={ranked}
            rowKey={({ pin }) => pin.id}
            initialSort={{ key: 'events', isDown: true }}
          />
        )}
      </Loaded>
    </Card>
  );
}

function columnsIn(clock: Clock): readonly Column<Row>[] {
  return [
    { key: 'title', title: 'Pin', sort: ({ pin }) => pin.title, render: ({ pin }) => <PinName pin={pin} /> },
    {
      key: 'owner',
      title: 'Owner',
      width: '11rem',
      isMinor: true,
      sort: ({ owner }) => owner.name,
      render: ({ owner }) => <PersonLink person={owner} />,
    },
    countColumn('events', 'Events', ({ events }) => events, { width: '6rem' }),
    countColumn('people', 'Users', ({ people }) => people, { width: '6rem', isMinor: true }),
    latestColumn(clock, ({ last }) => last),
  ];
}

function PinName({ pin }: Pick<Row, 'pin'>) {
  const title = pin.title || `Pin ${pin.id}`;
  const isWeb = /^https?:\/\//i.test(pin.web_url);
  return (
    <span title={title}>
      {isWeb ? (
        <a className="name" href={pin.web_url} target="_blank" rel="noopener noreferrer">
          {title}
          <span className="unseen"> (opens in a new tab)</span>
          <span aria-hidden="true" className="away">
            {' '}
            ↗
          </span>
        </a>
      ) : (
        <span className="name">{title}</span>
      )}
      {pin.tags.length > 0 && <span className="tags"> {pin.tags.join(', ')}</span>}
    </span>
  );
}
