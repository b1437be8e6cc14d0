/** Activity over time, with a choice of splits: of all events, of a board or of a user. */
import type { Activity, Overview } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { BlankBars, PeriodTable, StackedBars } from '../charts/over-time.tsx';
import type { Series } from '../charts/plot.tsx';
import { capitalize } from '../view/format.ts';
import { INTERVALS, type Interval } from '../view/range.ts';
import { useInterval, useParameters, useRange, useWhole } from '../view/use-view.ts';
import { Card, Choice } from './card.tsx';
import { Loaded } from './states.tsx';

const SPLITS = ['action', 'type', 'board', 'role', 'people'] as const;
type Split = (typeof SPLITS)[number];

/** The palette has eight colors, and grey for the rest. */
const MOST_SERIES = 8;
/** Placeholders with the usual number and length of names in a legend. */
const USUAL_NAMES = ['Commented', 'Created', 'Followed', 'Liked', 'Visited'];

export interface About {
  readonly board?: string;
  readonly user?: string;
}

export function ActivityCard({
  about = {},
  splits = SPLITS,
  span,
}: {
  readonly about?: About;
  readonly splits?: readonly Split[];
  /** The first and the last event of the subject. */
  readonly span?: Pick<Overview, 'first' | 'last'>;
}) {
  const [parameters, change] = useParameters();
  const { start, end, zone, clock } = useRange();
  const { interval, possible, isKnown } = useInterval(span);
  const split = splits.find((known) => known === parameters.get('by')) ?? 'action';
  const by = split === 'people' ? undefined : split;
  const answer = useFigures(
    'activity',
    isKnown
      ? {
          ...about,
          start,
          end,
          zone,
          interval,
          by,
          top: by === 'board' ? MOST_SERIES : undefined,
        }
      : undefined,
  );
  const colors = useActionColors();
  const toSeries = (data: Activity) =>
    split === 'people' ? peopleOf(data) : seriesOf(data, split === 'action' ? colors : undefined);
  return (
    <Card
      title="Activity"
      note={split === 'people' ? 'Unique users with events' : 'Events'}
      tools={
        <>
          <Choice
            name="Split by"
            value={split}
            options={splits.map((one) => [one, one === 'people' ? 'Active users' : `By ${one}`])}
            onChange={(value) => change({ by: value === 'action' ? undefined : value })}
          />
          <Choice<Interval>
            name="Interval"
            value={interval}
            options={INTERVALS.filter((one) => possible.includes(one)).map((one) => [one, capitalize(one)])}
            onChange={(value) => change({ interval: value })}
          />
        </>
      }
      table={
        answer.data &&
        (() => (
          <PeriodTable caption="Activity" {...answer.data} clock={clock} series={toSeries(answer.data)} />
        ))
      }
    >
      <Loaded
        answer={answer}
        shape={<BlankBars names={split === 'people' ? [] : USUAL_NAMES} />}
        isEmpty={({ people }) => people.every((count) => count === 0)}
        empty="No events in this range"
      >
        {(data) => <StackedBars name="Activity" {...data} clock={clock} series={toSeries(data)} />}
      </Loaded>
    </Card>
  );
}

/** An action has the same color on every page, by its position in the list of all actions. */
export function useActionColors(): (action: string) => number {
  const { data } = useWhole();
  return (action) => {
    const place = data?.actions.findIndex((known) => known.action === action) ?? -1;
    return place === -1 || place >= MOST_SERIES ? 0 : place + 1;
  };
}

function peopleOf({ people }: Activity): Series[] {
  return [{ name: 'Active users', color: 1, values: people }];
}

/** All series for which no color is left are combined into one. */
function seriesOf({ series, periods }: Activity, colorOf?: (name: string) => number): Series[] {
  const shown: Series[] = [];
  const rest = periods.map(() => 0);
  for (const [place, { label, board, events }] of series.entries()) {
    const name = board === null ? (label ?? 'Other boards') : board.title;
    const color = colorOf?.(name) ?? (board === null && label === null ? 0 : (place + 1) % (MOST_SERIES + 1));
    if (color > 0 && place < MOST_SERIES)
      shown.push({
        name: board === null && label !== null ? capitalize(label) || 'None' : name,
        color,
        values: events,
      });
    else for (const [period, count] of events.entries()) rest[period] = (rest[period] ?? 0) + count;
  }
  shown.sort((one, other) => one.color - other.color);
  return rest.some((count) => count > 0) ? [...shown, { name: 'Other', color: 0, values: rest }] : shown;
}
