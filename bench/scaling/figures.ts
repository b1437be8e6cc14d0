/** The figures of the last full run of the benchmark, for models that build on them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { size } from '../table.ts';

const FILE = join(import.meta.dirname, 'figures.json');

export interface Figures {
  /** The measured sizes, in events. */
  readonly events: readonly number[];
  /** By names of the form `1 M/start/ms`. */
  readonly values: Readonly<Record<string, number>>;
}

export function writeFigures(figures: Figures): void {
  writeFileSync(FILE, `${JSON.stringify(figures, undefined, 2)}\n`);
}

/** Throws an error with a readable message if there was no full run. */
export function readFigures(): Figures {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'));
  } catch (cause) {
    throw new Error('There are no figures yet: run "npm run bench -- --events 1M --events 10M" first.', {
      cause,
    });
  }
}

/** The values of a figure for all sizes that have it. */
export function valuesOf({ events, values }: Figures, name: string) {
  return events.flatMap((count) => {
    const value = values[`${size(count)}/${name}`];
    return value === undefined ? [] : [{ events: count, value }];
  });
}
