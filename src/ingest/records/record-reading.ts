/** A record between its input and its check: where it stands, and how it is read there. */
import type { EventRecord } from '../../store/staging.ts';
import type { Written } from '../fields/form.ts';
import { readObject } from '../fields/json.ts';
import { Refusal } from '../fields/refusal.ts';
import type { Line } from '../input/lines.ts';

/** A record as it stands in its input. */
export interface Reading {
  /** First line of the record, from 1; 0 speaks of the whole file. */
  readonly line: number;
  /** About how long the record is; absent when not a record but the input is refused. */
  readonly length: number | undefined;
  /** The text of the record, in CSV without its line end. */
  readonly raw: string;
  /** What is written there. Throws the `Refusal` when it cannot be read. */
  readonly read: () => Written;
  /** The event that stands there, if it is known to hold by what has been taken before. */
  readonly event?: () => EventRecord | undefined;
}

/** The record that the JSON text of a line holds. */
export function readJson({ line, text, problem }: Line): Reading {
  if (problem !== undefined) return refused(line, text, new Refusal('', problem));
  return {
    line,
    length: text.length,
    raw: text,
    read: () => ({ value: readObject(text), isCells: false }),
  };
}

/** What cannot be read; `raw` is absent when not a record but the input is refused. */
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
