/** A score as a number, beside a bar that is full at the goal. */
import { formatNumber } from '../view/format.ts';

export function ScoreBar({ score, share }: { readonly score: number; readonly share: number }) {
  return (
    <span className="score">
      <span className="score-track" aria-hidden="true">
        <span style={{ width: `${100 * Math.min(1, share)}%` }} />
      </span>
      <span className="score-text">{formatNumber(score)}</span>
    </span>
  );
}
