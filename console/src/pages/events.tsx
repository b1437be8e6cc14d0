/** Events filtered by range, board, user and action, with their number and an export to a file. */
import { useState } from 'react';
import type { CommunityEvent, Overview } from '../api/answers.ts';
import { type EventFilter, useBoards, useEvents, useFigures, usePeople } from '../api/queries.ts';
import { ExportCard } from '../export/export-card.tsx';
import { Card } from '../parts/card.tsx';
import { Combobox } from '../parts/combobox.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { BoardLink, nameOf, PersonLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Failure, Skeleton } from '../parts/states.tsx';
import { instantWidth } from '../parts/time-width.ts';
import type { Clock } from '../view/clock.ts';
import { capitalize, formatCount, formatInstant } from '../view/format.ts';
import { useParameters, useRange, useWhole } from '../view/use-view.ts';

const PAGE = 200;

export function EventsPage() {
  const [parameters] = useParameters();
  const { start, end, from, to } = useRange();
  const asked = {
    ...{ start, end, board: parameters.get('board') ?? undefined },
    ...{ user: parameters.get('person') ?? undefined, action: parameters.get('action') ?? undefined },
  };
  const figures = useFigures('overview', asked);
  const total = figures.data?.events;
  const name = [
    'events',
    from,
    to,
    asked.board && `board-${asked.board}`,
    asked.user && `user-${asked.user}`,
    asked.action,
  ];
  const count = total === undefined ? '' : formatCount(total, 'event');
  return (
    <Page
      title="Events"
      note={
        <span aria-live="polite" className="live-count">
          {count}
        </span>
      }
    >
      <div className="grid events-head">
        <Filters figures={figures.data} />
        <ExportCard key={JSON.stringify(asked)} filter={asked} name={fileName(name)} total={total ?? 0} />
      </div>
      {figures.error === null ? (
        <EventTable filter={asked} total={total} />
      ) : (
        <Failure error={figures.error} onRetry={() => void figures.refetch()} />
      )}
    </Page>
  );
}

function fileName(parts: readonly (string | undefined)[]): string {
  return parts
    .filter((part) => part !== undefined && part !== '')
    .join('-')
    .replace(/[^\w-]+/g, '_');
}

function Filters({ figures }: { readonly figures: Overview | undefined }) {
  const [parameters, change] = useParameters();
  const [wanted, setWanted] = useState({ boards: false, people: false });
  const whole = useWhole();
  const boards = useBoards(wanted.boards);
  const people = usePeople(wanted.people);
  const [board, person, action] = ['board', 'person', 'action'].map((name) => parameters.get(name) ?? '');
  const actions = whole.data?.actions.map((known) => known.action) ?? [];
  const shown =
    action === undefined || action === '' || actions.includes(action) ? actions : [action, ...actions];
  return (
    <Card title="Filters" note="Within the date range above">
      <div className="filters">
        <Combobox
          name="Board"
          any="Any board"
          chosen={board ? { id: board, title: figures?.board?.title || `Board ${board}` } : undefined}
          options={boards.data?.map(({ id, title, category }) => ({ id, title, note: category }))}
          onWanted={() => setWanted({ ...wanted, boards: true })}
          onChange={(id) => change({ board: id })}
        />
        <Combobox
          name="Actor"
          any="Any user"
          chosen={
            person
              ? { id: person, title: figures?.user ? nameOf(figures.user) : `User ${person}` }
              : undefined
          }
          options={people.data?.map((one) => ({ id: one.id, title: nameOf(one), note: one.email }))}
          onWanted={() => setWanted({ ...wanted, people: true })}
          onChange={(id) => change({ person: id })}
        />
        <label className="field">
          Action
          <select
            className="input"
            value={action}
            onChange={(event) => change({ action: event.target.value })}
          >
            <option value="">Any action</option>
            {shown.map((name) => (
              <option key={name} value={name}>
                {capitalize(name)}
              </option>
            ))}
          </select>
        </label>
      </div>
    </Card>
  );
}

function EventTable({ filter, total }: { readonly filter: EventFilter; readonly total: number | undefined }) {
  const { clock } = useRange();
  const pages = useEvents(filter, PAGE);
  if (pages.isPending) return <Skeleton height={480} />;
  if (pages.error !== null) return <Failure error={pages.error} onRetry={() => void pages.refetch()} />;
  const rows = pages.data.pages.flatMap(({ items }) => items);
  if (rows.length === 0)
    return <Empty title="No events match">Choose a longer date range or remove a filter.</Empty>;
  const more = () => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  };
  return (
    <DataTable
      caption="Events"
      minWidth="29rem"
      columns={columnsIn(clock)}
      rows={rows}
      rowKey={(_, place) => String(place)}
      onNearEnd={more}
      total={total}
    />
  );
}

function columnsIn(clock: Clock): readonly Column<CommunityEvent>[] {
  return [
    {
      key: 'when',
      title: 'Time',
      width: instantWidth(),
      isTime: true,
      render: ({ timestamp }) => formatInstant(timestamp, clock),
    },
    { key: 'actor', title: 'Actor', render: ({ actor }) => <PersonLink person={actor} /> },
    {
      key: 'action',
      title: 'Action',
      width: '9rem',
      render: ({ action, type }) => `${capitalize(action)}${type === 'pin' ? '' : ` ${type}`}`,
    },
    {
      key: 'what',
      title: 'Pin or board',
      isMinor: true,
      render: ({ pin, board }) => (
        <span title={pin?.title}>{pin === undefined ? board.title : pin.title || `Pin ${pin.id}`}</span>
      ),
    },
    {
      key: 'owner',
      title: 'Owner',
      width: '9.5rem',
      isMinor: true,
      render: ({ owner }) => <PersonLink person={owner} />,
    },
    {
      key: 'board',
      title: 'Board',
      width: '12rem',
      isMinor: true,
      render: ({ board }) => <BoardLink board={board} />,
    },
  ];
}
