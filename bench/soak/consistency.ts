/**
 * Checks that a response is of exactly one version: it shows complete batches, without a gap from
 * the first one on, and the same batches for the same entity tag.
 */
import { type Marks, SHARES } from './batches.ts';
import type { RenderedBody } from './reading.ts';

/** The kind of a response, which determines its number of events of each batch. */
export type Share = 'export' | 'board' | 'user' | 'scoped';

/** The number of batches in a response identifies its version. */
export class Consistency {
  readonly #baseEvents: number;
  readonly #marks: Marks;
  readonly #versionByTag = new Map<string, number>();
  readonly #basePoints = new Map<number, number>();

  constructor(baseEvents: number, marks: Marks) {
    this.#baseEvents = baseEvents;
    this.#marks = marks;
  }

  /** Throws an error with a readable message if the events cannot come from one version. */
  checkEvents(name: string, answer: RenderedBody, share: Share): void {
    const batches = answer.marks.size;
    for (let batch = 1; batch <= batches; batch++) {
      const count = answer.marks.get(batch) ?? 0;
      if (count !== SHARES[share]) {
        throw new Error(
          `${name} shows ${count} of ${SHARES[share]} events of batch ${batch} (${batches} batches)`,
        );
      }
    }
    const wanted = this.#baseEvents + batches * SHARES.events;
    if (share === 'export' && answer.events !== wanted) {
      throw new Error(`${name} has ${answer.events} events, but its version has ${wanted}`);
    }
    this.#remember(name, answer.etag, batches);
  }

  /** Checks the points of the user who earns points with each batch, on a marked board. */
  checkPoints(name: string, answer: RenderedBody, board: number): void {
    const records = Object.values<{ user_id: number; total_points: number }>(JSON.parse(answer.text));
    const total = records.find((record) => record.user_id === this.#marks.earner)?.total_points ?? 0;
    const base = this.#basePoints.get(board) ?? total;
    this.#basePoints.set(board, base);
    const batches = (total - base) / SHARES.points;
    if (!Number.isInteger(batches)) throw new Error(`${name} shows ${total - base} points of whole batches`);
    this.#remember(name, answer.etag, batches);
  }

  #remember(name: string, etag: string, batches: number): void {
    const tag = `${name} ${etag}`;
    const before = this.#versionByTag.get(tag) ?? batches;
    if (before !== batches)
      throw new Error(`${name} shows ${batches} batches under a tag that showed ${before}`);
    this.#versionByTag.set(tag, batches);
  }
}
