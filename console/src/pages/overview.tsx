/** The overview of the organization. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { Overview, Returning } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { BarList, BlankBarList } from '../charts/bar-list.tsx';
import { BlankHeatMap, HeatMap } from '../charts/heat-map.tsx';
import { BlankBars, PeriodTable, StackedBars } from '../charts/over-time.tsx';
import { type About, ActivityCard, useActionColors } from '../parts/activity-card.tsx';
import { Card, Tile, Tiles } from '../parts/card.tsx';
import { BoardLink, PageLink, PersonLink } from '../parts/links.tsx';
import { Page } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import type { Clock } from '../view/clock.ts';
import { capitalize, formatCount, formatDate, formatNumber } from '../view/format.ts';
import { useInterval, useRange, useWhole } from '../view/use-view.ts';

type TileFigures = Pick<Overview, 'events' | 'people' | 'boards' | 'pins' | 'first' | 'last'>;

const TOP = 8;
/** In pixels. */
const RETURNING_HEIGHT = 220;
const BLANK_RANKING = <BlankBarList rows={TOP} hasNotes />;
/** Placeholder numbers and dates of typical length. */
const BLANK: TileFigures = {
  ...{ events: 100_000, people: 1_000, boards: 10, pins: 1_000 },
  ...{ first: '2026-01-01T00:00:00.000Z', last: '2026-12-31T00:00:00.000Z' },
};

export function OverviewPage() {
  const { start, end, clock } = useRange();
  const whole = useWhole();
  const figures = useFigures('overview', { start, end });
  return (
    <Page title={whole.data?.organization.name ?? 'Overview'} above="Overview">
      <Loaded answer={figures} shape={<Figures data={BLANK} clock={clock} />}>
        {(data) => <Figures data={data} clock={clock} />}
      </Loaded>
      <div className="grid">
        <div className="wide">
          <ActivityCard />
        </div>
        <ActionsCard figures={figures} />
        <BoardsCard />
        <PeopleCard />
        <ReturningCard />
        <HeatMapCard />
      </div>
    </Page>
  );
}

function Figures({ data, clock }: { readonly data: TileFigures; readonly clock: Clock }) {
  return (
    <Tiles>
      <Tile name="Events" value={formatNumber(data.events)} note={spanOf(data, clock)} />
      <Tile name="Active users" value={formatNumber(data.people)} />
      <Tile name="Boards" value={formatNumber(data.boards)} />
      <Tile name="Pins" value={formatNumber(data.pins)} />
    </Tiles>
  );
}

export function spanOf({ first, last }: Pick<Overview, 'first' | 'last'>, clock: Clock): string | undefined {
  if (first === null || last === null) return undefined;
  const [from, to] = [formatDate(first, clock), formatDate(last, clock)];
  return from === to ? from : `${from} – ${to}`;
}

function ActionsCard({ figures }: { readonly figures: UseQueryResult<Overview> }) {
  const colors = useActionColors();
  const itemsOf = ({ actions }: Overview) =>
    actions.slice(0, TOP).map(({ action, events }) => ({
      ...{ key: action, value: events, color: colors(action) },
      name: (
        <PageLink to="/console/events" more={{ action }} className="name">
          {capitalize(action)}
        </PageLink>
      ),
    }));
  return (
    <Card title="Actions" note="Events by action">
      <Loaded
        answer={figures}
        shape={<BlankBarList rows={TOP} />}
        isEmpty={({ actions }) => actions.length === 0}
      >
        {(data) => <BarList items={itemsOf(data)} />}
      </Loaded>
    </Card>
  );
}

function BoardsCard() {
  const { start, end } = useRange();
  const answer = useFigures('rankBoards', { start, end, top: TOP });
  return (
    <Card title="Most active boards" tools={<PageLink to="/console/boards">All boards</PageLink>}>
      <Loaded answer={answer} shape={BLANK_RANKING} isEmpty={(boards) => boards.length === 0}>
        {(boards) => (
          <BarList
            items={boards.map(({ board, events, people }) => ({
              ...{ key: board.id, name: <BoardLink board={board} />, value: events },
              note: formatCount(people, 'user'),
            }))}
          />
        )}
      </Loaded>
    </Card>
  );
}

function PeopleCard() {
  const { start, end } = useRange();
  const answer = useFigures('rankUsers', { start, end, top: TOP });
  return (
    <Card title="Most active users" tools={<PageLink to="/console/people">All users</PageLink>}>
      <Loaded answer={answer} shape={BLANK_RANKING} isEmpty={(people) => people.length === 0}>
        {(people) => (
          <BarList
            items={people.map(({ user, events, boards }) => ({
              ...{ key: user.id, name: <PersonLink person={user} />, value: events },
              note: formatCount(boards, 'board'),
            }))}
          />
        )}
      </Loaded>
    </Card>
  );
}

function ReturningCard() {
  const { start, end, zone, clock } = useRange();
  const { interval, isKnown } = useInterval();
  const answer = useFigures('returning', isKnown ? { start, end, zone, interval } : undefined);
  const series = (data: Returning) => [
    { name: 'Returning', color: 1, values: data.returning },
    { name: 'New', color: 2, values: data.newcomers },
  ];
  const table =
    answer.data &&
    (() => (
      <PeriodTable
        caption="New and returning users"
        {...answer.data}
        clock={clock}
        series={series(answer.data)}
      />
    ));
  return (
    <Card title="New and returning users" note="New users have their first event in the period" table={table}>
      <Loaded
        answer={answer}
        shape={<BlankBars names={['Returning', 'New']} height={RETURNING_HEIGHT} />}
        isEmpty={({ newcomers, returning }) => [...newcomers, ...returning].every((count) => count === 0)}
      >
        {(data) => (
          <StackedBars
            name="New and returning users"
            {...data}
            clock={clock}
            series={series(data)}
            height={RETURNING_HEIGHT}
          />
        )}
      </Loaded>
    </Card>
  );
}

export function HeatMapCard({ about = {} }: { readonly about?: About }) {
  const { start, end, zone } = useRange();
  const answer = useFigures('heatMap', { ...about, start, end, zone });
  return (
    <Card title="Activity by hour" note={`Events by day of the week and hour, ${zone}`} className="wide">
      <Loaded
        answer={answer}
        shape={<BlankHeatMap />}
        isEmpty={({ hours }) => hours.flat().every((count) => count === 0)}
      >
        {({ hours }) => <HeatMap hours={hours} />}
      </Loaded>
    </Card>
  );
}
