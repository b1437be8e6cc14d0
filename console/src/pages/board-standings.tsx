/** The progress of users on a board towards its goal, and the points of all of them. */
import { useMemo } from 'react';
import type { VariantA } from '../../../src/client/client.ts';
import type { Participation, Person } from '../api/answers.ts';
import { useFigures, usePeople, usePointsOfBoard } from '../api/queries.ts';
import { Distribution } from '../charts/distribution.tsx';
import { GradebookCard } from '../export/gradebook-card.tsx';
import { Card, Tile, Tiles } from '../parts/card.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { PageLink, PersonLink } from '../parts/links.tsx';
import { ScoreBar } from '../parts/score-bar.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import type { Clock } from '../view/clock.ts';
import { formatCount, formatDate, formatNumber, formatShare } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';

const MOST_AT_RISK = 100;

export function BoardStandings({ id }: { readonly id: string }) {
  const { clock } = useRange();
  const answer = useFigures('participation', { board: id, top: MOST_AT_RISK });
  return (
    <div className="stack">
      <Loaded
        answer={answer}
        height={400}
        isEmpty={({ people }) => people === 0}
        empty="No users on this board"
      >
        {(data) => (
          <div className="stack">
            <GoalTiles data={data} clock={clock} />
            <div className="grid">
              <Card title="Progress" note="Users by percentage of the goal reached, all time">
                <Distribution counts={data.distribution} />
              </Card>
              <AtRisk data={data} id={id} />
            </div>
          </div>
        )}
      </Loaded>
      <PointsTable id={id} goal={answer.data?.goal ?? 1} />
      <GradebookCard board={id} />
    </div>
  );
}

function GoalTiles({ data, clock }: { readonly data: Participation; readonly clock: Clock }) {
  const window =
    data.window_start === null && data.window_end === null
      ? 'No time limit'
      : [data.window_start, data.window_end]
          .map((at) => (at === null ? '…' : formatDate(at, clock)))
          .join(' – ');
  return (
    <Tiles>
      <Tile name="Goal" value={formatNumber(data.goal)} note={window} />
      <Tile
        name="Reached"
        value={formatNumber(data.reached)}
        note={formatShare(data.reached / data.people)}
      />
      <Tile
        name="In progress"
        value={formatNumber(data.under_way)}
        note={`Median: ${formatNumber(data.median_points)} points`}
      />
      <Tile
        name="Not started"
        value={formatNumber(data.not_started)}
        note={`of ${formatCount(data.people, 'user')}`}
      />
    </Tiles>
  );
}

function AtRisk({ data, id }: { readonly data: Participation; readonly id: string }) {
  const pace = data.pace_points;
  const note =
    pace === null
      ? `${formatCount(data.at_risk_people, 'user')} below the goal, fewest points first`
      : `${formatCount(data.at_risk_people, 'user')} below the expected ${formatNumber(Math.round(pace))} points`;
  const columns: Column<Participation['at_risk'][number]>[] = [
    { key: 'user', title: 'User', render: ({ user }) => <PersonLink person={user} /> },
    {
      ...{ key: 'points', title: 'Points', width: '6rem', isNumber: true },
      render: ({ user, total_points }) => (
        <PageLink to={`/console/people/${user.id}/ledger`} more={{ board: id }}>
          {formatNumber(total_points)}
        </PageLink>
      ),
    },
  ];
  return (
    <Card title="At risk of missing the goal" note={note}>
      {data.at_risk.length === 0 ? (
        <Empty title="No users at risk" />
      ) : (
        <DataTable
          caption="Users at risk"
          columns={columns}
          rows={data.at_risk}
          rowKey={({ user }) => user.id}
        />
      )}
    </Card>
  );
}

interface Row {
  readonly person: Person;
  readonly points: number;
  readonly score: number;
}

function PointsTable({ id, goal }: { readonly id: string; readonly goal: number }) {
  const { start, end } = useRange();
  const points = usePointsOfBoard(id, { start, end });
  const people = usePeople();
  const rows = useMemo(() => rowsOf(points.data ?? {}, people.data ?? []), [points.data, people.data]);
  const columns: Column<Row>[] = [
    {
      key: 'person',
      title: 'User',
      sort: ({ person }) => person.name,
      render: ({ person }) => <PersonLink person={person} />,
    },
    {
      ...{
        key: 'points',
        title: 'Points',
        width: '7rem',
        isNumber: true,
        sort: ({ points: total }) => total,
      },
      render: ({ person, points: total }) => (
        <PageLink to={`/console/people/${person.id}/ledger`} more={{ board: id }}>
          {formatNumber(total)}
        </PageLink>
      ),
    },
    {
      key: 'score',
      title: 'Score',
      width: '11rem',
      isMinor: true,
      sort: ({ score }) => score,
      render: ({ score, points: total }) => <ScoreBar score={score} share={total / goal} />,
    },
  ];
  const isAllTime = start === undefined && end === undefined;
  return (
    <Card
      title="Points"
      note={isAllTime ? 'All users on the board, all time' : 'All users on the board, awards in this range'}
    >
      <Loaded answer={points} height={300}>
        {() => (
          <Loaded answer={people} height={300}>
            {() =>
              rows.length === 0 ? (
                <Empty title="No users on this board" />
              ) : (
                <DataTable
                  caption="Points"
                  columns={columns}
                  rows={rows}
                  rowKey={({ person }) => person.id}
                  initialSort={{ key: 'points', isDown: true }}
                />
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Card>
  );
}

function rowsOf(points: VariantA.PointsMap, people: readonly Person[]): readonly Row[] {
  const known = new Map(people.map((person) => [person.id, person]));
  return Object.values(points).map(({ user_id, email, total_points, participation_score }) => ({
    person: known.get(user_id) ?? { id: user_id, email, name: '', role: '' },
    ...{ points: total_points, score: participation_score },
  }));
}
