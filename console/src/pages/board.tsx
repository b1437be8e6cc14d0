/** One board: its activity, points totals, pins, users and their interactions. */
import { lazy } from 'react';
import type { Overview } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { ActivityCard } from '../parts/activity-card.tsx';
import { Tile, Tiles } from '../parts/card.tsx';
import { PageLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { type Section, Sections } from '../parts/sections.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { formatNumber } from '../view/format.ts';
import { useRange } from '../view/use-view.ts';
import { BoardPeople } from './board-people.tsx';
import { BoardPins } from './board-pins.tsx';
import { BoardStandings } from './board-standings.tsx';
import { HeatMapCard, spanOf } from './overview.tsx';

const BoardInteractions = lazy(async () => ({
  default: (await import('./board-interactions.tsx')).BoardInteractions,
}));

const SECTIONS: readonly Section[] = [
  { name: 'activity', title: 'Activity' },
  { name: 'standings', title: 'Points' },
  { name: 'pins', title: 'Pins' },
  { name: 'people', title: 'Users' },
  { name: 'interactions', title: 'Interactions' },
];

export function BoardPage({ id, section }: { readonly id: string; readonly section: string }) {
  const { start, end, clock } = useRange();
  const answer = useFigures('overview', { board: id, start, end });
  const board = answer.data?.board;
  return (
    <Page
      title={board?.title || `Board ${id}`}
      above={<PageLink to="/console/boards">Boards</PageLink>}
      note={board && `${board.category || 'No category'} · Board ${id}`}
      tools={
        board && (
          <PageLink to="/console/events" more={{ board: id }} className="button">
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
              <Tile name="Active users" value={formatNumber(data.people)} />
              <Tile name="Pins" value={formatNumber(data.pins)} />
            </Tiles>
            <Sections
              name="Board sections"
              base={`/console/boards/${id}`}
              sections={SECTIONS}
              current={section}
            />
            <BoardSection id={id} section={section} span={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function BoardSection({
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
          <ActivityCard about={{ board: id }} span={span} splits={['action', 'type', 'role', 'people']} />
          <HeatMapCard about={{ board: id }} />
        </div>
      );
    case 'standings':
      return <BoardStandings id={id} />;
    case 'pins':
      return <BoardPins id={id} />;
    case 'people':
      return <BoardPeople id={id} />;
    case 'interactions':
      return <BoardInteractions id={id} />;
    default:
      return <Empty title="Page not found" />;
  }
}
