/**
 * The process of an attacker: starts, drains and ends attacks on request by messages, and reports
 * their results.
 */
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
  /** Sends no more requests, and reads the responses in progress at full speed. */
  | { readonly kind: 'drain' }
  /** Waits until no response is in progress, at most `forMs`. */
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'end' };

export interface AttackerFigures {
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly lastByteMs: number;
  readonly lastEndMs: number;
  /** The statuses on connections without a key. */
  readonly keylessStatuses: Readonly<Record<string, number>>;
  /** Responses to the key that are in progress. */
  readonly open: number;
}

const LOOK_EVERY_MS = 20;

// A real attacker has its own machine; here it must not take CPU time from the server.
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
