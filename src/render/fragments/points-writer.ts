/**
 * Points records as members of a JSON object, under one of three keys (contract 2.8, decisions 8
 * and 9).
 */
import type { Standings } from '../../dataset/query.ts';
import type { Users } from '../../dataset/records.ts';
import type { Chunk } from '../text/chunk.ts';
import type { Fragments, Halves } from '../text/fragments.ts';
import type { RowWriter } from '../text/frame.ts';
import { renderJson } from '../text/notation.ts';

/**
 * The key of a record: the user's e-mail address, the user's id (decision 8), or the board's id.
 */
export type PointsKey = 'email' | 'user' | 'board';

/** The head is the id. The tail is the e-mail address as JSON; boards have no tail. */
export function renderIdentity({ id, email }: Pick<Users, 'id'> & Partial<Users>, index: number): Halves {
  return [renderJson(id, index), email && renderJson(email, index)];
}

const USER = ':{"user_id":';
const BOARD = ',"board_id":';
const EMAIL = ',"email":';
const TOTAL = ',"total_points":';
const SCORE = ',"participation_score":';
const END = '}';
const FIXED_BYTES = (USER + BOARD + EMAIL + TOTAL + SCORE + END).length;

export class PointsWriter implements RowWriter {
  readonly count: number;
  readonly #standings: Standings;
  readonly #keyedBy: PointsKey;
  readonly #users: Fragments;
  readonly #boards: Fragments;

  /** `users` and `boards` are fragments made by `renderIdentity`. */
  constructor(standings: Standings, keyedBy: PointsKey, users: Fragments, boards: Fragments) {
    this.count = standings.count;
    this.#standings = standings;
    this.#keyedBy = keyedBy;
    this.#users = users;
    this.#boards = boards;
  }

  size(row: number): number {
    return (
      this.#keySize(row) +
      FIXED_BYTES +
      this.#users.size(this.#standings.user[row]!) +
      this.#boards.size(this.#standings.board[row]!) +
      String(this.#standings.totalPoints[row]).length +
      String(this.#standings.participationScore[row]).length
    );
  }

  write(row: number, chunk: Chunk): void {
    const user = this.#standings.user[row]!;
    this.#writeKey(row, chunk);
    chunk.appendAscii(USER);
    chunk.appendHead(this.#users, user);
    chunk.appendAscii(BOARD);
    chunk.append(this.#boards, this.#standings.board[row]!);
    chunk.appendAscii(EMAIL);
    chunk.appendTail(this.#users, user);
    chunk.appendAscii(TOTAL);
    chunk.appendAscii(String(this.#standings.totalPoints[row]));
    chunk.appendAscii(SCORE);
    chunk.appendAscii(String(this.#standings.participationScore[row]));
    chunk.appendAscii(END);
  }

  #keySize(row: number): number {
    const user = this.#standings.user[row]!;
    const boardSize = this.#boards.size(this.#standings.board[row]!);
    switch (this.#keyedBy) {
      case 'email':
        return this.#users.tailSize(user);
      case 'board':
        return '""'.length + boardSize;
      case 'user':
        return '""'.length + this.#users.headSize(user) + (this.#isFirst(row) ? 0 : ':'.length + boardSize);
    }
  }

  #writeKey(row: number, chunk: Chunk): void {
    const user = this.#standings.user[row]!;
    if (this.#keyedBy === 'email') {
      chunk.appendTail(this.#users, user);
      return;
    }
    chunk.appendAscii('"');
    if (this.#keyedBy === 'user') chunk.appendHead(this.#users, user);
    if (this.#keyedBy === 'user' && !this.#isFirst(row)) chunk.appendAscii(':');
    if (this.#keyedBy === 'board' || !this.#isFirst(row)) {
      chunk.append(this.#boards, this.#standings.board[row]!);
    }
    chunk.appendAscii('"');
  }

  /** Whether this is the first record of its user; records are in the order of user, then board. */
  #isFirst(row: number): boolean {
    return row === 0 || this.#standings.user[row - 1] !== this.#standings.user[row];
  }
}
