/** Marked events that are published batch by batch during a soak: an answer shows all of a batch, or none of it. */
import { writeFile } from 'node:fs/promises';
import { boardIds, type Community, ownerOf, pinOf, timeSpan } from '../community.ts';

/** The action of every marked event of batch 7 is `batch-7`. */
export const MARK = 'batch-';
const MARKED_BOARDS = 5;
const MARKED_PER_BOARD = 10;
const BY_USER_PER_BOARD = 4;
const EARNING_PER_BOARD = 3;
/** What the default policy gives for a comment. */
const POINTS_OF_COMMENT = 5;

/** How many marked events of a batch each question shows, and what else a batch changes. */
export const SHARES = {
  export: MARKED_BOARDS * MARKED_PER_BOARD,
  board: MARKED_PER_BOARD,
  user: MARKED_BOARDS * BY_USER_PER_BOARD,
  /** Of a key that sees the first two boards. */
  scoped: 2 * MARKED_PER_BOARD,
  /** Marked or not. */
  events: MARKED_BOARDS * (MARKED_PER_BOARD + EARNING_PER_BOARD),
  /** Earned on each of the boards by the one who comments. */
  points: EARNING_PER_BOARD * POINTS_OF_COMMENT,
} as const;

export interface Marks {
  readonly boards: readonly number[];
  /** Acts in marked events. */
  readonly user: number;
  /** Earns points by comments, and acts in nothing else of a batch. */
  readonly earner: number;
}

export function marksOf(community: Community): Marks {
  return { boards: boardIds(community).slice(0, MARKED_BOARDS), user: 100_001, earner: 100_002 };
}

/** Spread over all of the time, so that the batch changes the timeline at its beginning, in its middle and at its end. */
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
