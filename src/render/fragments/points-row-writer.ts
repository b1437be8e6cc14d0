/** Points totals as rows: one for each user on a board (decision 93). */
import type { ListKind, Standings } from '../../dataset/query.ts';
import type { Chunk } from '../text/chunk.ts';
import { POINTS_FIELDS, POINTS_NUMBERS, pointsColumns } from '../text/fields.ts';
import type { Fragments, Halves } from '../text/fragments.ts';
import type { RowWriter } from '../text/frame.ts';
import { type Notation, renderFields } from '../text/notation.ts';

type RecordFields = Readonly<Record<string, unknown>>;

/** Renders the part of a row that is about its user or its board. */
export function pointsPartOf(
  of: ListKind,
  notation: Notation,
): (records: RecordFields, index: number) => Halves {
  const names = Object.keys(POINTS_FIELDS[of]);
  let latest: RecordFields | undefined;
  let columns: ReturnType<typeof pointsColumns> = {};
  return (records, index) => {
    if (records !== latest) columns = pointsColumns(of, records);
    latest = records;
    return [renderFields(notation, names, columns, index)];
  };
}

/** The texts around the values of a row, all ASCII. */
interface RowForm {
  readonly start: string;
  readonly beforeBoard: string;
  readonly beforeNumbers: readonly [total: string, score: string];
  readonly end: string;
}

const [TOTAL, SCORE] = POINTS_NUMBERS;
const CELLS: RowForm = { start: '', beforeBoard: ',', beforeNumbers: [',', ','], end: '' };
const FORMS: Readonly<Record<Notation, RowForm>> = {
  json: { start: '{', beforeBoard: ',', beforeNumbers: [`,"${TOTAL}":`, `,"${SCORE}":`], end: '}' },
  csv: CELLS,
  excel: CELLS,
};

export class PointsRowWriter implements RowWriter {
  readonly count: number;
  readonly #standings: Standings;
  readonly #users: Fragments;
  readonly #boards: Fragments;
  readonly #form: RowForm;
  readonly #fixedBytes: number;

  /** `users` and `boards` are fragments made by `pointsPartOf`. */
  constructor(notation: Notation, standings: Standings, users: Fragments, boards: Fragments) {
    this.count = standings.count;
    this.#standings = standings;
    this.#users = users;
    this.#boards = boards;
    this.#form = FORMS[notation];
    const { start, beforeBoard, beforeNumbers, end } = this.#form;
    this.#fixedBytes = [start, beforeBoard, ...beforeNumbers, end].join('').length;
  }

  size(row: number): number {
    return (
      this.#fixedBytes +
      this.#users.size(this.#standings.user[row]!) +
      this.#boards.size(this.#standings.board[row]!) +
      String(this.#standings.totalPoints[row]).length +
      String(this.#standings.participationScore[row]).length
    );
  }

  write(row: number, chunk: Chunk): void {
    const { start, beforeBoard, beforeNumbers, end } = this.#form;
    chunk.appendAscii(start);
    chunk.append(this.#users, this.#standings.user[row]!);
    chunk.appendAscii(beforeBoard);
    chunk.append(this.#boards, this.#standings.board[row]!);
    chunk.appendAscii(beforeNumbers[0]);
    chunk.appendAscii(String(this.#standings.totalPoints[row]));
    chunk.appendAscii(beforeNumbers[1]);
    chunk.appendAscii(String(this.#standings.participationScore[row]));
    chunk.appendAscii(end);
  }
}
