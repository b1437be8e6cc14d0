/** One user: activity, points by board, and the ledger. */
import type { VariantA } from '../../../src/client/client.ts';
import type { Overview } from '../api/answers.ts';
import { useBoards, useFigures, usePointsOfPerson } from '../api/queries.ts';
import { BarList } from '../charts/bar-list.tsx';
import { ActivityCard } from '../parts/activity-card.tsx';
import { Card, Tile, Tiles } from '../parts/card.tsx';
import { BoardLink, nameOf, PageLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { Sections } from '../parts/sections.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { capitalize, formatNumber } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';
import { HeatMapCard, spanOf } from './overview.tsx';
import { PersonLedger } from './person-ledger.tsx';

const SECTIONS = [
  { name: 'activity', title: 'Activity' },
  { name: 'points', title: 'Points' },
  { name: 'ledger', title: 'Ledger' },
] as const;

export function PersonPage({ id, section }: { readonly id: string; readonly section: string }) {
  const { start, end, clock } = useRange();
  const answer = useFigures('overview', { user: id, start, end });
  const person = answer.data?.user;
  return (
    <Page
      title={person ? nameOf(person) : `User ${id}`}
      above={<PageLink to="/console/people">Users</PageLink>}
      note={person && [person.email, capitalize(person.role)].filter((text) => text !== '').join(' · ')}
      tools={
        person && (
          <PageLink to="/console/events" more={{ person: id }} className="button">
            Events and export
          </PageLink>
        )
      }
    >
      <Loaded answer={answer} height={92}>
        {(data) => (
          <>
            <Tiles>
              <Tile name="Events" value={formatNumber(data.events)} note={spanOf(data, clock)} />
              <Tile name="Boards" value={formatNumber(data.boards)} />
              <Tile name="Pins" value={formatNumber(data.pins)} />
            </Tiles>
            <Sections
              name="User sections"
              base={`/console/people/${id}`}
              sections={SECTIONS}
              current={section}
            />
            <PersonSection id={id} section={section} span={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function PersonSection({
  id,
  section,
  span,
}: {
  readonly id: string;
  readonly section: string;
  readonly span: Overview;
}) {
  switch (section) {
    case 'activity':
      return (
        <div className="stack">
          <ActivityCard about={{ user: id }} span={span} splits={['action', 'type', 'board']} />
          <HeatMapCard about={{ user: id }} />
        </div>
      );
    case 'points':
      return <PersonPoints id={id} />;
    case 'ledger':
      return <PersonLedger id={id} />;
    default:
      return <Empty title="Page not found" />;
  }
}

function PersonPoints({ id }: { readonly id: string }) {
  const { start, end } = useRange();
  const points = usePointsOfPerson(id, { start, end });
  const boards = useBoards();
  const known = new Map(boards.data?.map((board) => [board.id, board]));
  const itemsOf = (map: VariantA.PointsMap) =>
    Object.values(map)
      .sort((one, other) => other.total_points - one.total_points)
      .map(({ board_id, total_points, participation_score }) => ({
        key: board_id,
        name: <BoardLink board={known.get(board_id) ?? { id: board_id, title: '', category: '' }} />,
        value: total_points,
        note: (
          <>
            score {formatNumber(participation_score)} ·{' '}
            <PageLink to={`/console/people/${id}/ledger`} more={{ board: board_id }}>
              ledger
            </PageLink>
          </>
        ),
      }));
  const isAllTime = start === undefined && end === undefined;
  return (
    <Card title="Points by board" note={isAllTime ? 'All time' : 'Awards in this range'}>
      <Loaded
        answer={points}
        height={300}
        isEmpty={(map) => Object.keys(map).length === 0}
        empty="Not on any board"
      >
        {(map) => <BarList items={itemsOf(map)} />}
      </Loaded>
    </Card>
  );
}
