/** The distribution of users by the share of the goal that they reached: one bar per tenth. */
import { formatNumber, formatShare } from '../view/format.ts';

/** `counts` is by tenths of the goal; the last element counts the goal and above. */
export function Distribution({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  return (
    <ol className="distribution" aria-label="Users by share of the goal reached">
      {counts.map((count, tenth) => {
        const name = nameOfTenth(tenth, counts.length);
        return (
          <li key={name}>
            <span className="distribution-count">{formatNumber(count)}</span>
            <span
              className={tenth === counts.length - 1 ? 'distribution-bar is-reached' : 'distribution-bar'}
              style={{ height: `${Math.max(count > 0 ? 3 : 0, (100 * count) / most)}%` }}
              aria-hidden="true"
            />
            <span className="distribution-name">
              <span className="unseen">users at {name}</span>
              <span aria-hidden="true">{tenth === counts.length - 1 ? '100+' : `${tenth * 10}`}</span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function nameOfTenth(tenth: number, tenths: number): string {
  if (tenth === tenths - 1) return `${formatShare(1)} or more`;
  return `${formatShare(tenth / 10)} to ${formatShare((tenth + 1) / 10)}`;
}
