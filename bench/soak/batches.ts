/**
 * Marked events that are published batch by batch during a soak. A response must show all events of
 * a batch or none.
 */
import { writeFile } from 'node:fs/promises';
import { boardIds, type Community, ownerOf, pinOf, timeSpan } from '../community.ts';

/** The action of every marked event of batch 7 is `batch-7`. */
export const MARK = 'batch-';
const MARKED_BOARDS = 5;
const MARKED_PER_BOARD = 10;
const BY_USER_PER_BOARD = 4;
const EARNING_PER_BOARD = 3;
/** Points for a comment in the default policy. */
const POINTS_OF_COMMENT = 5;

/** The marked events of a batch in each kind of response, and the other effects of a batch. */
export const SHARES = {
  export: MARKED_BOARDS * MARKED_PER_BOARD,
  board: MARKED_PER_BOARD,
  user: MARKED_BOARDS * BY_USER_PER_BOARD,
  /** With a key that sees the first two boards. */
  scoped: 2 * MARKED_PER_BOARD,
  /** All events of a batch, marked or not. */
  events: MARKED_BOARDS * (MARKED_PER_BOARD + EARNING_PER_BOARD),
  /** Points that the commenting user earns on each of the boards. */
  points: EARNING_PER_BOARD * POINTS_OF_COMMENT,
} as const;

export interface Marks {
  readonly boards: readonly number[];
  /** A user who acts in marked events. */
  readonly user: number;
  /** A user who earns points with comments, and acts in no other events of a batch. */
  readonly earner: number;
}

export function marksOf(community: Community): Marks {
  return { boards: boardIds(community).slice(0, MARKED_BOARDS), user: 100_001, earner: 100_002 };
}

/**
 * Writes events spread over the whole time span, so that the batch changes the beginning, the
 * middle and the end of the timeline.
 */
export async function writeBatch(
  file: string,
  batch: number,
  community: Community,
  marks: Marks,
): Promise<void> {
  const { startMs, lengthMs } = timeSpan();
  const lines = ['id,type,action,owner_id,actor_id,board_id,pin_id,timestamp'];
  let index = 0;
  const add = (board: number, action: string, actor: number): void => {
    const share = ((index * 0.618 + batch * 0.01) % 1) * 1.2;
    const id = community.events + batch * 1000 + index++;
    const owner = ownerOf(pinOf(board), community);
    lines.push(
      [id, 'pin', action, owner, actor, board, pinOf(board), startMs + Math.floor(share * lengthMs)].join(
        ',',
      ),
    );
  };
  for (const board of marks.boards) {
    for (let i = 0; i < MARKED_PER_BOARD; i++) {
      add(board, `${MARK}${batch}`, i < BY_USER_PER_BOARD ? marks.user : marks.user + 10 + i);
    }
    for (let i = 0; i < EARNING_PER_BOARD; i++) add(board, 'commented', marks.earner);
  }
  await writeFile(file, `${lines.join('\n')}\n`);
}
