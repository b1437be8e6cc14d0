/** Entries of the table for each new row: in most of them no search is needed. */
const ENTRIES_PER_ROW = 8;

/** The numbers that the rows of a timeline have after others were inserted. */
export class RowNumbers {
  /** The earlier rows before which the new ones come, ascending. */
  readonly places: Int32Array;
  /**
   * By the leading bits of an earlier row: the number of new rows before the first row with these
   * bits; behind the last one, the number of all. The table is small, so that rows can be looked up
   * in any order; one number for each row would be read from memory each time.
   */
  readonly #starts: Int32Array;
  readonly #shift: number;
  /** Whether earlier rows keep their numbers, because all new ones come last. */
  readonly #numbersStay: boolean;

  /** `length`: the number of earlier rows. */
  constructor(places: Int32Array, length: number) {
    this.places = places;
    this.#numbersStay = (places[0] ?? length) === length;
    this.#shift = Math.max(0, Math.ceil(Math.log2((length + 1) / (ENTRIES_PER_ROW * (places.length + 1)))));
    this.#starts = new Int32Array((length >>> this.#shift) + 2);
    let inserted = 0;
    for (let start = 0; start < this.#starts.length; start++) {
      while (inserted < places.length && places[inserted]! < start << this.#shift) inserted += 1;
      this.#starts[start] = inserted;
    }
  }

  /** Writes the numbers of earlier rows to `target`, from `at` on. */
  ofEarlier(rows: Int32Array, target: Int32Array, at: number): void {
    if (this.#numbersStay) {
      target.set(rows, at);
      return;
    }
    const places = this.places;
    const starts = this.#starts;
    const shift = this.#shift;
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place]!;
      let inserted = starts[row >>> shift]!;
      let end = starts[(row >>> shift) + 1]!;
      // Mostly there is none; all can be among the same few rows.
      while (inserted < end) {
        const middle = (inserted + end) >>> 1;
        if (places[middle]! > row) end = middle;
        else inserted = middle + 1;
      }
      target[at + place] = row + inserted;
    }
  }

  /** `row`: the number among the new rows. */
  ofNew(row: number): number {
    return this.places[row]! + row;
  }
}
