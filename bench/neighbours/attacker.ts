/** The process of an attacker: begins, drains and ends attacks by message, and tells what they have seen. */
import { constants, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Attack, type AttackName, type Field } from './attacks.ts';
import { Tally } from './hostile-connection.ts';

export type AttackerOrder =
  | {
      readonly kind: 'begin';
      readonly names: readonly AttackName[];
      readonly field: Omit<Field, 'tally' | 'keyless'>;
    }
  | { readonly kind: 'pin' }
  /** Asks for nothing any more, and reads what is under way as it comes. */
  | { readonly kind: 'drain' }
  /** Until nothing is under way any more, but no longer. */
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'end' };

export interface AttackerFigures {
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly lastByteMs: number;
  readonly lastEndMs: number;
  /** Of connections without a key. */
  readonly keylessStatuses: Readonly<Record<string, number>>;
  /** Responses to the key that are under way. */
  readonly open: number;
}

const LOOK_EVERY_MS = 20;

// On a network an attacker computes on a machine of its own; here it must not take the server's time.
setPriority(constants.priority.PRIORITY_LOW);

let tally = new Tally();
let attack: Attack | undefined;
let keyless = new Tally();

process.once('disconnect', () => process.exit());
process.on('message', async (order: AttackerOrder) => {
  await obey(order);
  process.send?.(figures());
});

async function obey(order: AttackerOrder): Promise<void> {
  switch (order.kind) {
    case 'begin':
      tally = new Tally();
      keyless = new Tally();
      attack = new Attack({ ...order.field, tally, keyless });
      for (const name of order.names) attack.begin(name);
      return;
    case 'pin':
      return attack?.pin();
    case 'drain':
      return attack?.drain();
    case 'wait':
      return await untilEnded(order.forMs);
    case 'end':
      attack?.end();
  }
}

async function untilEnded(forMs: number): Promise<void> {
  const endMs = Date.now() + forMs;
  while (Date.now() < endMs && (attack?.open ?? 0) > 0) await pause(LOOK_EVERY_MS);
}

function figures(): AttackerFigures {
  const { statuses, bytes, lastByteMs, lastEndMs } = tally;
  return {
    statuses: Object.fromEntries(statuses),
    keylessStatuses: Object.fromEntries(keyless.statuses),
    ...{ bytes, lastByteMs, lastEndMs, open: attack?.open ?? 0 },
  };
}
