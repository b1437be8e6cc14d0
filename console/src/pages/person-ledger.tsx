/** The ledger of a user on a board: time, event and rule of every award, and whether it counts. */
import type { Ledger } from '../api/answers.ts';
import { useBoards, useFigures, usePointsOfPerson } from '../api/queries.ts';
import { Card } from '../parts/card.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { instantWidth } from '../parts/time-width.ts';
import type { Clock } from '../view/clock.ts';
import { capitalize, formatInstant, formatNumber } from '../view/format.ts';
import { useParameters, useRange } from '../view/use-view.ts';

type Line = Ledger['lines'][number];

export function PersonLedger({ id }: { readonly id: string }) {
  const [parameters, change] = useParameters();
  const points = usePointsOfPerson(id, {});
  const boards = useBoards();
  const titles = new Map(boards.data?.map((board) => [board.id, board.title]));
  const records = Object.values(points.data ?? {}).sort(
    (one, other) => other.total_points - one.total_points,
  );
  const board = parameters.get('board') ?? records[0]?.board_id;
  return (
    <Card
      title="Ledger"
      note="All awards and adjustments, all time"
      tools={
        records.length > 0 && (
          <label className="choice">
            <span className="unseen">Board</span>
            <select value={board} onChange={(event) => change({ board: event.target.value })}>
              {records.map(({ board_id, total_points }) => (
                <option key={board_id} value={board_id}>
                  {titles.get(board_id) || `Board ${board_id}`} ({formatNumber(total_points)})
                </option>
              ))}
            </select>
          </label>
        )
      }
    >
      <Loaded answer={points} height={300}>
        {() =>
          board === undefined ? <Empty title="Not on any board" /> : <LedgerOfBoard id={id} board={board} />
        }
      </Loaded>
    </Card>
  );
}

function LedgerOfBoard({ id, board }: { readonly id: string; readonly board: string }) {
  const { clock } = useRange();
  const answer = useFigures('ledger', { board, user: id });
  return (
    <Loaded answer={answer} height={300}>
      {(ledger) => (
        <div className="stack">
          <ul className="sentences">
            {ledger.summary.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
          {ledger.lines.length === 0 ? (
            <Empty title="No awards on this board" />
          ) : (
            <DataTable
              caption="Ledger"
              minWidth="30rem"
              columns={columnsIn(clock)}
              rows={ledger.lines}
              rowKey={(_, place) => String(place)}
            />
          )}
        </div>
      )}
    </Loaded>
  );
}

function columnsIn(clock: Clock): readonly Column<Line>[] {
  return [
    {
      key: 'when',
      title: 'Time',
      width: instantWidth(),
      isTime: true,
      render: ({ timestamp }) => (timestamp === null ? '–' : formatInstant(timestamp, clock)),
    },
    { key: 'what', title: 'Description', render: ({ what }) => <span title={what}>{what}</span> },
    {
      key: 'rule',
      title: 'Rule',
      width: '11rem',
      isMinor: true,
      render: ({ rule }) => <span title={rule}>{rule || '–'}</span>,
    },
    {
      key: 'outcome',
      title: 'Outcome',
      width: '8rem',
      isMinor: true,
      render: ({ counted, reason }) => (
        <span className={counted ? 'counts' : 'counts-not'} title={reason}>
          {capitalize(reason)}
        </span>
      ),
    },
    {
      key: 'points',
      title: 'Points',
      width: '5rem',
      isNumber: true,
      render: ({ points, counted }) => (counted ? formatNumber(points) : <s>{formatNumber(points)}</s>),
    },
    {
      key: 'total',
      title: 'Total',
      width: '5rem',
      isNumber: true,
      isMinor: true,
      render: ({ running_total }) => formatNumber(running_total),
    },
  ];
}
