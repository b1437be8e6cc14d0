/** Whether an answer is of exactly one version: whole batches, the first so many of them, the same ones under the same tag. */
import { type Marks, SHARES } from './batches.ts';
import type { Answer } from './reading.ts';

/** What a kind of question shows of each batch; `events` where all events of the organization come. */
export type Share = 'export' | 'board' | 'user' | 'scoped';

/** Which version has answered is told by how many batches it shows. */
export class Consistency {
  readonly #baseEvents: number;
  readonly #marks: Marks;
  readonly #versionByTag = new Map<string, number>();
  readonly #basePoints = new Map<number, number>();

  constructor(baseEvents: number, marks: Marks) {
    this.#baseEvents = baseEvents;
    this.#marks = marks;
  }

  /** Throws, with a sentence, when the events cannot come from one version. */
  checkEvents(name: string, answer: Answer, share: Share): void {
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

  /** Points of the one who earns so many with each batch, on a marked board. */
  checkPoints(name: string, answer: Answer, board: number): void {
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
