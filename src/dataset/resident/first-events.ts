/**
 * When users first acted, and boards were first acted on, as visible in a scope (decision 35).
 * Computed when a query has a range, and kept for the newest scopes.
 */

import type { Scope } from '../../domain/scope.ts';
import { AsyncMemo } from '../../system/async-memo.ts';
import { streamSelection } from '../timeline.ts';
import type { ColumnSizes } from './events.ts';
import type { ScopeMask } from './scope-mask.ts';
import type { ResidentTimeline } from './timeline.ts';

/** Each scope takes eight bytes per user and per board of the version. */
const KEPT_SCOPES = 4;

/** By index, in Unix milliseconds; NaN without an event inside the scope. */
type FirstMs = (index: number) => number;

interface Found {
  readonly actor: Float64Array;
  readonly board: Float64Array;
}

export class FirstEvents {
  readonly #timeline: ResidentTimeline;
  readonly #visibility: ScopeMask;
  readonly #sizes: ColumnSizes;
  readonly #found = new AsyncMemo<Found, Scope>(KEPT_SCOPES);

  constructor(timeline: ResidentTimeline, visibility: ScopeMask, sizes: ColumnSizes) {
    this.#timeline = timeline;
    this.#visibility = visibility;
    this.#sizes = sizes;
  }

  async of(column: 'actor' | 'board', scope: Scope): Promise<FirstMs> {
    const { boards, peopleOfEvents } = this.#visibility.of(scope);
    // If nothing is hidden, the indexes of the timeline have the times.
    if (boards === undefined && peopleOfEvents === undefined)
      return (index) => this.#timeline.firstMs(column, index);
    const found = await this.#found.take(scope, () => this.#find(scope));
    return (index) => found[column][index]!;
  }

  /** In time slices. */
  async #find(scope: Scope): Promise<Found> {
    const actor = new Float64Array(this.#sizes.users).fill(Number.NaN);
    const board = new Float64Array(this.#sizes.boards).fill(Number.NaN);
    const selection = this.#timeline.select({ scope, range: {} });
    for await (const batch of streamSelection(this.#timeline.events, selection, { reused: true })) {
      for (let row = 0; row < batch.count; row++) {
        const ms = batch.timestampMs[row]!;
        if (Number.isNaN(actor[batch.actor[row]!])) actor[batch.actor[row]!] = ms;
        if (Number.isNaN(board[batch.board[row]!])) board[batch.board[row]!] = ms;
      }
    }
    return { actor, board };
  }
}
