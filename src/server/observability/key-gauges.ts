/** Metrics of keys that need the attention of an operator. */
import { Gauge, type Registry } from '@prometheus-io/client';
import { EXPIRES_SOON_DAYS, type KeyWarning, UNUSED_DAYS, warningsOf } from '../../keys/key-warnings.ts';
import type { Keyring } from '../../keys/keyring.ts';

/** The keys are read at most this often, however often metrics are requested. */
const COUNTS_LIFE_MS = 60_000;
/** Metrics do not wait longer for a database; then they show the last counts. */
const PATIENCE_MS = 1_000;

const GAUGES = {
  'expires-soon': {
    name: 'corkboard_keys_expiring',
    help: `Keys in force that expire within ${EXPIRES_SOON_DAYS} days.`,
  },
  unused: {
    name: 'corkboard_keys_unused',
    help: `Keys in force that were not used for ${UNUSED_DAYS} days.`,
  },
} as const satisfies Partial<Record<KeyWarning, { readonly name: string; readonly help: string }>>;
type CountedWarning = keyof typeof GAUGES;
const COUNTED = Object.keys(GAUGES) as CountedWarning[];

/** The number of keys with each warning, by organization; without names, under the empty name. */
type KeyCounts = ReadonlyMap<string, Readonly<Record<CountedWarning, number>>>;

/** Adds the gauges. While the keys have not been read, they have no values. */
export function addKeyGauges(
  keyring: Pick<Keyring, 'dates'>,
  registry: Registry,
  namesOrganizations: boolean,
): void {
  let last: KeyCounts = new Map();
  let counting = Promise.resolve();
  let countedMs = -Infinity;

  async function count(): Promise<void> {
    try {
      last = await countKeys(keyring, namesOrganizations);
    } catch {
      // The keys cannot be read. Requests fail for the same reason, which the log contains.
    }
  }

  async function counts(): Promise<KeyCounts> {
    const nowMs = performance.now();
    if (nowMs - countedMs >= COUNTS_LIFE_MS) [countedMs, counting] = [nowMs, count()];
    await Promise.race([counting, patience()]);
    return last;
  }

  for (const warning of COUNTED) {
    new Gauge({
      ...GAUGES[warning],
      labelNames: namesOrganizations ? (['organization'] as const) : [],
      registers: [registry],
      // Each worker counts all keys.
      aggregator: 'max',
      async collect() {
        const shown = await counts();
        this.reset();
        // Without labels, a reset is a 0.
        if (shown.size === 0 && !namesOrganizations) this.remove();
        for (const [organization, numbers] of shown)
          this.set(namesOrganizations ? { organization } : {}, numbers[warning]);
      },
    });
  }
}

async function countKeys(keyring: Pick<Keyring, 'dates'>, namesOrganizations: boolean): Promise<KeyCounts> {
  const nowMs = Date.now();
  const counts = new Map<string, Record<CountedWarning, number>>();
  if (!namesOrganizations) counts.set('', { 'expires-soon': 0, unused: 0 });
  for (const dates of await keyring.dates()) {
    const name = namesOrganizations ? dates.organization : '';
    const numbers = counts.get(name) ?? { 'expires-soon': 0, unused: 0 };
    counts.set(name, numbers);
    const warnings = warningsOf(dates, nowMs);
    for (const warning of COUNTED) if (warnings.includes(warning)) numbers[warning] += 1;
  }
  return counts;
}

async function patience(): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, PATIENCE_MS).unref());
}
