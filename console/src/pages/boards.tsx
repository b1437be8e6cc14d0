/** Every board that the key may see, with what happened on it in the range. */
import { useMemo } from 'react';
import type { Activity, Board, RankedBoard } from '../api/answers.ts';
import { pathWith } from '../api/client.ts';
import { useAnswer, useBoards } from '../api/queries.ts';
import { Sparkline } from '../charts/over-time.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { BoardLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { formatCount, formatDate, formatNumber } from '../view/format.ts';
import { matches } from '../view/matches.ts';
import { useInterval, useParameters, useRange } from '../view/use-view.ts';

const MOST_RANKED = 1000;
const MOST_LINES = 200;

interface Row {
  readonly board: Board;
  readonly events: number;
  readonly people: number;
  readonly last: string | undefined;
  readonly line: readonly number[] | undefined;
}

export function BoardsPage() {
  const { start, end, zone } = useRange();
  const { interval, isKnown } = useInterval();
  const [parameters, change] = useParameters();
  const wanted = parameters.get('q') ?? '';
  const boards = useBoards();
  const ranked = useAnswer<readonly RankedBoard[]>(
    pathWith('/insights/v1/boards', { start, end, top: MOST_RANKED }),
  );
  const coarse = interval === 'hour' || interval === 'day' ? 'day' : interval;
  const lines = useAnswer<Activity>(
    isKnown
      ? pathWith('/insights/v1/activity', {
          start,
          end,
          zone,
          interval: coarse,
          by: 'board',
          top: MOST_LINES,
        })
      : undefined,
  );
  const rows = useMemo(
    () => rowsOf(boards.data ?? [], ranked.data ?? [], lines.data),
    [boards.data, ranked.data, lines.data],
  );
  const found = rows.filter(({ board }) => matches(`${board.title} ${board.category} ${board.id}`, wanted));
  return (
    <Page
      title="Boards"
      note={boards.data && formatCount(boards.data.length, 'board')}
      tools={
        <SearchField
          name="Find a board"
          value={wanted}
          onChange={(q) => change({ q })}
          found={found.length}
        />
      }
    >
      <Loaded answer={ranked} height={480}>
        {() => (
          <Loaded
            answer={boards}
            height={480}
            isEmpty={(all) => all.length === 0}
            empty="No boards for this key"
          >
            {() =>
              found.length === 0 ? (
                <Empty title="No board is called so" />
              ) : (
                <DataTable
                  caption="Boards"
                  columns={columnsIn(zone)}
                  rows={found}
                  rowKey={({ board }) => board.id}
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

function rowsOf(
  boards: readonly Board[],
  ranked: readonly RankedBoard[],
  activity: Activity | undefined,
): readonly Row[] {
  const figures = new Map(ranked.map((entry) => [entry.board.id, entry]));
  const lines = new Map(activity?.series.map(({ board, events }) => [board?.id, events]));
  return boards.map((board) => {
    const { events = 0, people = 0, last } = figures.get(board.id) ?? {};
    return { board, events, people, last, line: lines.get(board.id) };
  });
}

function columnsIn(zone: string): readonly Column<Row>[] {
  return [
    {
      key: 'title',
      title: 'Board',
      sort: ({ board }) => board.title,
      render: ({ board }) => <BoardLink board={board} />,
    },
    {
      key: 'category',
      title: 'Category',
      width: '11rem',
      isMinor: true,
      sort: ({ board }) => board.category,
      render: ({ board }) => board.category,
    },
    {
      key: 'line',
      title: 'Activity',
      width: '9rem',
      isMinor: true,
      render: ({ line }) => line && <Sparkline values={line} />,
    },
    {
      key: 'events',
      title: 'Events',
      width: '6.5rem',
      isNumber: true,
      sort: ({ events }) => events,
      render: ({ events }) => formatNumber(events),
    },
    {
      key: 'people',
      title: 'People',
      width: '6.5rem',
      isNumber: true,
      isMinor: true,
      sort: ({ people }) => people,
      render: ({ people }) => formatNumber(people),
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
