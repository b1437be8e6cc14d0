/** A score of at most 100 as a bar and as a figure. */
import { formatNumber } from '../view/format.ts';

export function ScoreBar({ score }: { readonly score: number }) {
  return (
    <span className="score">
      <span className="score-track" aria-hidden="true">
        <span style={{ width: `${Math.min(100, score)}%` }} />
      </span>
      <span className="score-text">{formatNumber(score)}</span>
    </span>
  );
}
