/**
 * One tenant attacks while a different one works: phases of hostile load with one key, each on a
 * new server, first one attack at a time and then all together, beside the same small requests of
 * a different organization.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { boardIds, communityOf, timeSpan, writeCommunity, writeIncrement } from '../community.ts';
import { type Corkboard, createKey, importFiles, revokeKey, startCorkboard } from '../corkboard.ts';
import type { AttackerFigures, AttackerOrder } from '../neighbours/attacker.ts';
import { ATTACK_NAMES, type AttackName } from '../neighbours/attacks.ts';
import { mostAddedBytes, WARM_MS } from '../neighbours/bounds.ts';
import { ServerWatch, type Taken, takenBy } from '../neighbours/server-watch.ts';
import { addPhase, type Revocation } from '../neighbours/verdict.ts';
import type { VictimFigures, VictimMessage, VictimOrder } from '../neighbours/victim.ts';
import { ask, type Running, startModule } from '../processes.ts';
import type { Report } from '../report.ts';
import { fetchAnswer } from '../site.ts';

export interface Neighbours {
  /** Number of events of the attacker. */
  readonly events: number;
  readonly workers: number;
  readonly quick: boolean;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly report: Report;
}

const ATTACKER = 'attacker';
const VICTIM = 'victim';
const DEMO = join(import.meta.dirname, '../../demo');
const PHASE_SECONDS = 10;
const QUICK_SECONDS = 3;
const QUICK_SHARE = 0.05;
const VERSIONS = 8;
/** Imports during an attack may be slow; they end after this multiple of the length of a phase. */
const MOST_PHASES = 2;
const INCREMENT_EVENTS = 200;
/** A server looks for a new version twice a second. */
const SWITCH_MS = 700;
/** How long the responses to a revoked key are observed. */
const DRAIN_MS = 4_000;
const RECOVER_MS = 3_000;
const MESSAGE_MS = 60_000;
const BOARDS_ASKED = 16;

/** The attacks that need no import by the operator, which would use the same cores. */
const WITHOUT_IMPORTS = ATTACK_NAMES.filter((name) => name !== 'replaced versions');

/** The starting point of every phase. */
interface Ground extends Neighbours {
  readonly dataDir: string;
  readonly attacker: Running;
  readonly victim: Running;
  readonly victimKey: string;
  readonly seconds: number;
}

export async function runNeighbours(plan: Neighbours): Promise<void> {
  const { report, signal } = plan;
  const dataDir = join(plan.folder, 'data');
  await mkdir(dataDir);
  report.say(
    `Importing ${plan.events.toLocaleString('en')} events of the attacker, and the demo for the victim`,
  );
  await importAttacker(plan, dataDir);
  await importFiles([DEMO], dataDir, signal, VICTIM);
  const victimKey = (await createKey(dataDir, signal, VICTIM)).key;
  await using attacker = startModule('./neighbours/attacker.ts', signal);
  await using victim = startModule('./neighbours/victim.ts', signal);
  const ground = {
    ...plan,
    dataDir,
    attacker,
    victim,
    victimKey,
    seconds: plan.quick ? QUICK_SECONDS : PHASE_SECONDS,
  };
  await runPhase(ground, 'no attack', []);
  for (const name of ATTACK_NAMES) await runPhase(ground, name, [name]);
  await runPhase(ground, 'all together', WITHOUT_IMPORTS);
}

async function importAttacker({ events, folder, signal }: Neighbours, dataDir: string): Promise<void> {
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, communityOf(events));
  await importFiles([bundle], dataDir, signal, ATTACKER);
}

async function runPhase(ground: Ground, title: string, names: readonly AttackName[]): Promise<void> {
  const { report, signal, dataDir, workers } = ground;
  report.say(`Phase: ${title}`);
  await using server = await startCorkboard(dataDir, signal, {
    options: ['--workers', `${workers}`, '--log-level', 'fatal'],
  });
  const key = await createKey(dataDir, signal, ATTACKER);
  const order = await victimOrder(ground, server);
  await fetchAnswer(
    { name: 'corkboard', port: server.port, headers: { apikey: key.key } },
    '/a/v1/boards',
    signal,
  );
  const before = takenBy(server.pid);
  using watch = new ServerWatch(server.pid);
  await tell(ground.victim, order);
  await pause(WARM_MS, undefined, { signal });
  const guarded =
    names.length === 0 ? await rest(ground) : await attack(ground, server, key.key, names, watch);
  const victim = await tell<VictimFigures>(ground.victim, { kind: 'end' });
  const usesKey = names.some((name) => name !== 'connections without a key');
  const revocation = usesKey && guarded === undefined ? await revoke(ground, key.id) : undefined;
  const figures = await tellAttacker(ground, { kind: 'end' });
  const peak = watch.peak;
  const after = await recovered(server, before, names.length > 0);
  addPhase(report, {
    title,
    isAttack: names.length > 0,
    mostAddedBytes: mostAddedBytes(names.includes('replaced versions') ? VERSIONS : 0, ground.events),
    victim,
    before,
    peak,
    after,
    attacker: figures,
    revocation,
    guarded,
  });
}

async function rest({ seconds, signal }: Ground, ended?: AbortSignal): Promise<undefined> {
  const either = ended === undefined ? signal : AbortSignal.any([signal, ended]);
  await pause(seconds * 1_000, undefined, { signal: either }).catch(() => signal.throwIfAborted());
}

/** Returns why the attack had to end early; undefined if it did not. */
async function attack(
  ground: Ground,
  server: Corkboard,
  key: string,
  names: readonly AttackName[],
  watch: ServerWatch,
): Promise<string | undefined> {
  const { startMs, lengthMs } = timeSpan();
  const field = {
    ...{ port: server.port, key, share: ground.quick ? QUICK_SHARE : 1 },
    ...{ startMs, endMs: startMs + lengthMs, board: boardIds(communityOf(ground.events))[0] ?? 0 },
  };
  await tellAttacker(ground, { kind: 'begin', names, field });
  const controller = new AbortController();
  const last = names.includes('replaced versions') ? replaceVersions : rest;
  const lasting = last(ground, controller.signal);
  const guarded = await Promise.race([watch.guard, lasting]);
  controller.abort();
  await lasting;
  return guarded;
}

/** Alternates imports with exports that are read slowly and keep their version open. */
async function replaceVersions(ground: Ground, ended: AbortSignal): Promise<undefined> {
  const { events, folder, dataDir, signal, seconds } = ground;
  const file = join(folder, 'events-more.csv');
  const endMs = performance.now() + MOST_PHASES * seconds * 1_000;
  for (let version = 1; version <= VERSIONS && !ended.aborted && performance.now() < endMs; version++) {
    await writeIncrement(file, communityOf(events), INCREMENT_EVENTS * version);
    await importFiles([file], dataDir, signal, ATTACKER);
    await pause(SWITCH_MS, undefined, { signal });
    await tellAttacker(ground, { kind: 'pin' });
  }
}

async function revoke(ground: Ground, keyId: string): Promise<Revocation> {
  await tellAttacker(ground, { kind: 'drain' });
  await revokeKey(ground.dataDir, keyId, ground.signal);
  const revokedMs = Date.now();
  const { lastByteMs, lastEndMs, open } = await tellAttacker(ground, { kind: 'wait', forMs: DRAIN_MS });
  return {
    lastByteMs: Math.max(0, lastByteMs - revokedMs),
    lastEndMs: Math.max(0, lastEndMs - revokedMs),
    open,
  };
}

/** The memory and disk space of the server when it has recovered, or after a few seconds. */
async function recovered(server: Corkboard, before: Taken, wasAttacked: boolean): Promise<Taken> {
  const endMs = performance.now() + (wasAttacked ? RECOVER_MS : 0);
  for (;;) {
    const now = takenBy(server.pid);
    if (now.residentBytes < before.residentBytes * 1.05 || performance.now() > endMs) return now;
    await pause(250);
  }
}

async function victimOrder({ victimKey, signal }: Ground, { port }: Corkboard): Promise<VictimOrder> {
  const target = { name: 'corkboard', port, headers: { apikey: victimKey } } as const;
  const idsOf = async (list: string): Promise<readonly number[]> => {
    const items: readonly { readonly id: number }[] = JSON.parse(
      String(await fetchAnswer(target, `/a/v1/${list}`, signal)),
    );
    return items.slice(0, BOARDS_ASKED).map(({ id }) => id);
  };
  const [boards, users] = await Promise.all([idsOf('boards'), idsOf('users')]);
  const small = boards.flatMap((board, at) => [
    '/a/v1/boards',
    `/a/v1/events/board/${board}?limit=20`,
    '/a/v1/users',
    `/a/v1/board/${board}/points`,
    `/a/v1/events/user/${users[at % users.length]}?limit=20`,
  ]);
  return {
    port,
    key: victimKey,
    small,
    parquet: `/a/v1/events/board/${boards[0]}?format=parquet`,
    export: '/a/v1/events',
  };
}

function tell<Told>(running: Running, message: VictimMessage): Promise<Told> {
  return ask<Told>(running, message, MESSAGE_MS);
}

function tellAttacker({ attacker }: Ground, order: AttackerOrder): Promise<AttackerFigures> {
  return ask<AttackerFigures>(attacker, order, MESSAGE_MS);
}
