/** Activity by hour of the week. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventView } from '../dataset/event-rows.ts';
import type { Zone } from '../domain/zone.ts';
import { knownZone } from '../system/zones.ts';
import { type Counter, type RunningCount, sumOf } from './counter.ts';
import { type Asked, countSelected, kindsOf } from './scan.ts';

const HOUR_MS = 3_600_000;
const HOURS_OF_DAY = 24;
const HOURS_OF_WEEK = 7 * HOURS_OF_DAY;
/** 1 January 1970 was a Thursday. */
const FIRST_HOUR = 3 * HOURS_OF_DAY;

/** Events by hour of the week in local time; the first hour is Monday, 0 to 1 o'clock. */
export async function countHoursOfWeek(dataset: Dataset, asked: Asked, zone: string): Promise<Float64Array> {
  const wanted = kindsOf(dataset, asked.action);
  return await sumOf(await countSelected(dataset, asked, HEAT_MAP, { wanted, zone }));
}

interface HeatMapInput {
  readonly wanted: Uint8Array;
  readonly zone: string;
}

export const HEAT_MAP: Counter<HeatMapInput, Float64Array> = {
  name: 'heat map',
  start: (input) => new HeatMap(input),
};

class HeatMap implements RunningCount<Float64Array> {
  readonly #wanted: Uint8Array;
  readonly #clock: Zone;
  readonly #counts = new Float64Array(HOURS_OF_WEEK);
  #fromMs = Number.NaN;
  #toMs = Number.NaN;
  #hour = 0;

  constructor({ wanted, zone }: HeatMapInput) {
    this.#wanted = wanted;
    this.#clock = knownZone(zone);
  }

  see({ count, kindStride, instantStride, kind, timestampMs }: EventView): void {
    for (let row = 0; row < count; row++) {
      if (this.#wanted[kind[row * kindStride]!] === 0) continue;
      const ms = timestampMs[row * instantStride]!;
      if (!(ms >= this.#fromMs && ms < this.#toMs)) this.#enter(ms);
      this.#counts[this.#hour]! += 1;
    }
  }

  end(): Float64Array {
    return this.#counts;
  }

  #enter(ms: number): void {
    const { fromMs, toMs, offsetMs } = this.#clock.stretchAt(ms);
    const hours = Math.floor((ms + offsetMs) / HOUR_MS);
    this.#hour = (((hours + FIRST_HOUR) % HOURS_OF_WEEK) + HOURS_OF_WEEK) % HOURS_OF_WEEK;
    this.#fromMs = Math.max(hours * HOUR_MS - offsetMs, fromMs);
    this.#toMs = Math.min((hours + 1) * HOUR_MS - offsetMs, toMs);
  }
}
