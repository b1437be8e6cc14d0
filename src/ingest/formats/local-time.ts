/**
 * Local times in reports, such as `17/10/21, 12:39`: dates in any usual order, in a given time
 * zone.
 */
import type { Zone } from '../../domain/zone.ts';
import { knownZone } from '../../system/zones.ts';
import { Refusal } from '../fields/refusal.ts';
import type { DateOrder } from './choices.ts';
import { wordOf } from './format.ts';

const WRITTEN =
  /^\s*(?<one>\d{1,4})[/.-](?<two>\d{1,2})[/.-](?<three>\d{1,4}),?\s+(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?(?:\s*(?<half>[AP])\.?M\.?)?\s*$/i;

/** In any language, the date is all text before the time of day. */
const TIME_OF_DAY = /^(?<date>.*?)[\s,]+\d{1,2}[:.]\d{2}\b/u;

const MONTHS = 12;
const NOON = 12;
const CENTURY = 100;
/** Two-digit years from this one on belong to the 20th century, as in POSIX. */
const LAST_CENTURY_FROM = 69;

interface Parts {
  readonly one: string;
  readonly two: string;
  readonly three: string;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly half: string | undefined;
}

/** Reads the times of one file. The order of day, month and year is determined from all of them. */
export class LocalTimes {
  readonly #zone: Zone;
  #order: DateOrder | undefined;
  #dayFirst = 0;
  #monthFirst = 0;
  #yearFirst = 0;
  #yearLast = 0;
  /** The first text that cannot be read. */
  #unread: string | undefined;
  #areRead = false;
  /** The last result, because a file has many events of the same minute. */
  #last = { written: '', local: '', timestamp: '' };

  constructor(zone: string, order: DateOrder | undefined) {
    this.#zone = knownZone(zone);
    this.#order = order;
  }

  survey(written: unknown): void {
    const parts = partsOf(written);
    if (parts === undefined) {
      this.#unread ??= wordOf(written);
      return;
    }
    this.#areRead = true;
    if (parts.one.length > 2) this.#yearFirst += 1;
    else if (Number(parts.one) > MONTHS) this.#dayFirst += 1;
    else if (Number(parts.two) > MONTHS) this.#monthFirst += 1;
    if (parts.three.length > 2) this.#yearLast += 1;
  }

  /**
   * Throws `Refusal` when the order is neither given nor evident from the dates, when no time can
   * be read (an order would not help), or when the dates contradict the given order.
   */
  endSurvey(name: string): void {
    const told = this.#told();
    if (told !== undefined && this.#order !== undefined && told !== this.#order && !this.#mayBeYearFirst()) {
      throw new Refusal(name, `shows the order ${told}, not ${this.#order}; leave out --date-order`);
    }
    this.#order ??= told;
    if (this.#order !== undefined) return;
    if (!this.#areRead && this.#unread !== undefined) throw unreadable(name, this.#unread);
    throw new Refusal(
      name,
      'does not distinguish days from months; give their order: --date-order dmy|mdy|ymd',
    );
  }

  #told(): DateOrder | undefined {
    const [day, month, year] = [this.#dayFirst, this.#monthFirst, this.#yearFirst];
    if (day + month + year === 0) return undefined;
    if (year >= Math.max(day, month)) return 'ymd';
    return day >= month ? 'dmy' : 'mdy';
  }

  /**
   * Whether the given order `ymd` is possible although the dates look different: two-digit years
   * look like days, unless the last part of a date has more than two digits.
   */
  #mayBeYearFirst(): boolean {
    return this.#order === 'ymd' && this.#yearLast === 0 && this.#monthFirst === 0;
  }

  /** The time in ISO 8601 with the offset. Throws `Refusal`. */
  read(written: unknown, name: string): string {
    return this.#read(written, name).timestamp;
  }

  /** The time without an offset, as written, independent of the zone. Throws `Refusal`. */
  readLocal(written: unknown, name: string): string {
    return this.#read(written, name).local;
  }

  #read(written: unknown, name: string) {
    const text = wordOf(written);
    if (this.#last.written !== text) this.#last = { written: text, ...this.#make(text, name) };
    return this.#last;
  }

  #make(text: string, name: string): { local: string; timestamp: string } {
    const parts = partsOf(text);
    if (parts === undefined) throw unreadable(name, text);
    const { one, two, three, minute, second, half } = parts;
    const [day, month, year] =
      this.#order === 'ymd'
        ? [three, two, one]
        : this.#order === 'mdy'
          ? [two, one, three]
          : [one, two, three];
    const hour = half === undefined ? parts.hour : (parts.hour % NOON) + (half === 'P' ? NOON : 0);
    const localMs = localOf([yearOf(year), Number(month) - 1, Number(day), hour, minute, second]);
    if (localMs === undefined)
      throw new Refusal(name, `"${text.slice(0, 50)}" is not a date and time of the calendar`);
    const timestamp = new Date(this.#zone.shiftedInstantOf(localMs)).toISOString();
    return { local: new Date(localMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length), timestamp };
  }
}

/** Undefined if the calendar or the clock has no such time. The months begin with 0. */
function localOf(parts: readonly [number, number, number, number, number, number]): number | undefined {
  const [year, month, day, hour, minute, second] = parts;
  // Not `Date.UTC`, which adds 1900 to years before 100.
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  date.setUTCHours(hour, minute, second);
  const found = [
    ...[date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()],
    ...[date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()],
  ];
  return found.every((part, place) => part === parts[place]) ? date.getTime() : undefined;
}

function partsOf(written: unknown): Parts | undefined {
  const { one, two, three, hour, minute, second = '0', half } = WRITTEN.exec(wordOf(written))?.groups ?? {};
  if (one === undefined || two === undefined || three === undefined) return undefined;
  return {
    ...{ one, two, three, half: half?.toUpperCase() },
    ...{ hour: Number(hour), minute: Number(minute), second: Number(second) },
  };
}

/** A date without a year is a word and one number (`11 May`), or two numbers (`11/05`). */
function hasNoYear(text: string): boolean {
  const date = TIME_OF_DAY.exec(text.slice(0, 100))?.groups?.['date'] ?? '';
  const numbers = date.match(/\d+/g) ?? [];
  const isWord = /\p{L}/u.test(date);
  return numbers.length === (isWord ? 1 : 2) && numbers.every((digits) => digits.length <= 2);
}

function unreadable(name: string, text: string): Refusal {
  const quoted = `"${text.slice(0, 50)}"`;
  if (!hasNoYear(text)) return new Refusal(name, `${quoted} is not a date and time`);
  const instead =
    'set a format with a year in Moodle (strftimerecent of langconfig) and download the log again';
  return new Refusal(name, `${quoted} has no year; add it, as in 11/05/2020, 09:44, or ${instead}`);
}

function yearOf(written: string): number {
  const year = Number(written);
  if (written.length > 2) return year;
  return year + (year < LAST_CENTURY_FROM ? 20 : 19) * CENTURY;
}
