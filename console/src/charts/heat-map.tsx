/** Activity by hour of the week: a table of days and hours, colored by the number of events. */
import { formatHour, formatNumber, weekdays } from '../view/format.ts';

const LEVELS = 5;
const EVERY_HOURS = 3;

export function HeatMap({ hours }: { readonly hours: readonly (readonly number[])[] }) {
  const most = Math.max(1, ...hours.flat());
  const [long, short] = [weekdays('long'), weekdays('short')];
  return (
    <div className="heat-frame">
      <table className="heat">
        <caption className="unseen">Events by day of the week and hour</caption>
        <thead>
          <tr>
            <td />
            {Array.from({ length: 24 }, (_, hour) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its index
              <th key={hour} scope="col">
                <span className={hour % EVERY_HOURS === 0 ? 'heat-hour' : 'unseen'}>{formatHour(hour)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hours.map((counts, day) => (
            <tr key={long[day]}>
              <th scope="row">
                <abbr title={long[day]}>{short[day]}</abbr>
              </th>
              {counts.map((count, hour) => (
                <td
                  // biome-ignore lint/suspicious/noArrayIndexKey: an hour is its index
                  key={hour}
                  className={`heat-${levelOf(count, most)}`}
                  title={`${long[day]}, ${formatHour(hour)}: ${formatNumber(count)}`}
                >
                  <span className="unseen">{formatNumber(count)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="heat-legend" aria-hidden="true">
        Fewer
        {Array.from({ length: LEVELS + 1 }, (_, level) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a level is its index
          <span key={level} className={`heat-${level}`} />
        ))}
        More
      </p>
    </div>
  );
}

/** Placeholder of a heat map while it loads: a week without events. */
export function BlankHeatMap() {
  return <HeatMap hours={Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => 0))} />;
}

/** Scales by square roots, so that hours with few events differ from hours without events. */
function levelOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(1, Math.ceil(LEVELS * Math.sqrt(count / most)));
}
