/** A record between its input and its check: its location, and how to read it. */
import type { EventRecord } from '../../store/staging.ts';
import type { Written } from '../fields/form.ts';
import { readObject } from '../fields/json.ts';
import { Refusal } from '../fields/refusal.ts';
import type { Line } from '../input/lines.ts';

/** A record in its input. */
export interface Reading {
  /** First line of the record, from 1; 0 for the whole file. */
  readonly line: number;
  /** Position in an array, from 1, if several records begin on the line. */
  readonly index?: number | undefined;
  /**
   * Approximate length of the record in characters; absent if the input, not a record, is refused.
   */
  readonly length: number | undefined;
  /** The text of the record, in CSV without its line end. */
  readonly raw: string;
  /** The written record. Throws `Refusal` when it cannot be read. */
  readonly read: () => Written;
  /** The event, if earlier records have already shown that it is valid. */
  readonly event?: () => EventRecord | undefined;
}

/** The record in the JSON text of a line. */
export function readJson({ line, index, text, problem }: Line): Reading {
  if (problem !== undefined) return { ...refused(line, text, new Refusal('', problem)), index };
  return {
    line,
    index,
    length: text.length,
    raw: text,
    read: () => ({ value: readObject(text), isCells: false }),
  };
}

/** A record that cannot be read. `raw` is undefined if the input, not a record, is refused. */
export function refused(line: number, raw: string | undefined, refusal: Refusal): Reading {
  return {
    line,
    length: raw?.length,
    raw: raw ?? '',
    read: () => {
      throw refusal;
    },
  };
}
