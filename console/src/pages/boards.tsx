/** All boards that the key can see, with their activity in the range. */
import { useMemo } from 'react';
import type { Activity, Board, RankedBoard } from '../api/answers.ts';
import { useBoards, useFigures } from '../api/queries.ts';
import { Sparkline } from '../charts/over-time.tsx';
import { countColumn, latestColumn } from '../parts/columns.tsx';
import type { Column } from '../parts/data-table.tsx';
import { BoardLink } from '../parts/links.tsx';
import { SearchedPage } from '../parts/searched-page.tsx';
import type { Clock } from '../view/clock.ts';
import { countFound } from '../view/format.ts';
import { matches } from '../view/matches.ts';
import { useInterval, useParameters, useRange } from '../view/use-view.ts';

const MOST_RANKED = 1000;
const MOST_LINES = 200;

interface Row {
  readonly board: Board;
  /** Undefined if the board is not among the ranked ones. */
  readonly events: number | undefined;
  readonly people: number | undefined;
  readonly last: string | undefined;
  readonly line: readonly number[] | undefined;
}

export function BoardsPage() {
  const { start, end, zone, clock } = useRange();
  const { interval, isKnown } = useInterval();
  const [parameters, change] = useParameters();
  const wanted = parameters.get('q') ?? '';
  const boards = useBoards();
  const ranked = useFigures('rankBoards', { start, end, top: MOST_RANKED });
  const coarse = interval === 'hour' || interval === 'day' ? 'day' : interval;
  const lines = useFigures(
    'activity',
    isKnown ? { start, end, zone, interval: coarse, by: 'board', top: MOST_LINES } : undefined,
  );
  const rows = useMemo(
    () => rowsOf(boards.data ?? [], ranked.data ?? [], lines.data),
    [boards.data, ranked.data, lines.data],
  );
  const found = rows.filter(({ board }) => matches(`${board.title} ${board.category} ${board.id}`, wanted));
  return (
    <SearchedPage
      title="Boards"
      note={boards.data && countFound(found.length, boards.data.length, 'board')}
      find="Search boards"
      wanted={wanted}
      onWanted={(q) => change({ q })}
      figures={ranked}
      all={boards}
      rows={found}
      columns={columnsIn(clock)}
      rowKey={({ board }) => board.id}
      none="No boards visible to this API key"
      noneFound="No boards match"
    />
  );
}

function rowsOf(
  boards: readonly Board[],
  ranked: readonly RankedBoard[],
  activity: Activity | undefined,
): readonly Row[] {
  const figures = new Map(ranked.map((entry) => [entry.board.id, entry]));
  // A board that is not among the first thousand has an unknown number of events.
  const others = ranked.length < MOST_RANKED ? 0 : undefined;
  const lines = new Map(activity?.series.map(({ board, events }) => [board?.id, events]));
  return boards.map((board) => {
    const { events = others, people = others, last } = figures.get(board.id) ?? {};
    return { board, events, people, last, line: lines.get(board.id) };
  });
}

function columnsIn(clock: Clock): readonly Column<Row>[] {
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
    countColumn('events', 'Events', ({ events }) => events, { width: '6.5rem' }),
    countColumn('people', 'Users', ({ people }) => people, { width: '6.5rem', isMinor: true }),
    latestColumn(clock, ({ last }) => last),
  ];
}
