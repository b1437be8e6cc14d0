/** The results of a phase: rows of the tables, and checks that the victim was not affected. */
import type { Report } from '../report.ts';
import { bytes, duration } from '../table.ts';
import type { AttackerFigures } from './attacker.ts';
import { LOOP_NAMES, MOST_P99_MS, MOST_REVOCATION_MS } from './bounds.ts';
import type { Taken } from './server-watch.ts';
import type { LoopFigures, VictimFigures } from './victim.ts';

/** Times after the end of the command; 0 if before it. */
export interface Revocation {
  readonly lastByteMs: number;
  readonly lastEndMs: number;
  /** Responses that were still in progress at the end of the wait. */
  readonly open: number;
}

export interface Phase {
  readonly title: string;
  readonly isAttack: boolean;
  /** The memory that the phase may add to the server. */
  readonly mostAddedBytes: number;
  readonly victim: VictimFigures;
  readonly before: Taken;
  readonly peak: Taken;
  readonly after: Taken;
  readonly attacker: AttackerFigures;
  readonly revocation: Revocation | undefined;
  /** Why the attack was ended early; undefined if it was not. */
  readonly guarded: string | undefined;
}

export function addPhase(report: Report, phase: Phase): void {
  const { title, victim, before, peak, after, attacker, revocation, guarded, isAttack } = phase;
  const { small, ready, stream, parquet, export: all } = victim;
  report.addRow(
    'neighbours',
    ...[title, `${small.requests}`, `${failuresOf(phase)}`],
    ...[duration(small.p50Ms), duration(small.p99Ms), duration(small.maxMs)],
    ...[duration(ready.p99Ms), duration(stream.maxMs), duration(parquet.maxMs), duration(all.maxMs)],
  );
  report.addRow(
    'neighboursServer',
    ...[
      title,
      bytes(before.residentBytes),
      bytes(peak.residentBytes),
      bytes(after.residentBytes),
      bytes(peak.diskBytes),
    ],
    ...[isAttack ? renderStatuses(attacker) : '-', revocation ? renderRevocation(revocation) : '-'],
  );
  for (const name of LOOP_NAMES) {
    const reasons = Object.entries(victim[name].failures).map(([reason, count]) => `${count} × ${reason}`);
    if (reasons.length > 0)
      report.remark(`${title}: requests of the victim that failed (${name}): ${reasons.join(', ')}`);
  }
  if (guarded !== undefined) report.remark(`${title}: ended before its time, because ${guarded}.`);
  addChecks(report, phase);
}

function addChecks(report: Report, phase: Phase): void {
  const { title, victim, before, peak, revocation, guarded, isAttack, mostAddedBytes } = phase;
  report.check(title, `the victim's p99 is below ${MOST_P99_MS} ms`, victim.small.p99Ms < MOST_P99_MS);
  report.check(title, 'no request of the victim fails', failuresOf(phase) === 0);
  if (!isAttack) return;
  const added = peak.residentBytes - before.residentBytes;
  report.check(
    title,
    `at most ${bytes(mostAddedBytes)} of memory more`,
    guarded === undefined && added <= mostAddedBytes,
  );
  if (revocation === undefined) return;
  const ended = revocation.open === 0 && revocation.lastEndMs < MOST_REVOCATION_MS;
  report.check(title, `responses end within ${MOST_REVOCATION_MS} ms of a revocation`, ended);
}

function failuresOf({ victim }: Phase): number {
  const count = ({ failures }: LoopFigures) => Object.values(failures).reduce((sum, one) => sum + one, 0);
  return LOOP_NAMES.reduce((sum, name) => sum + count(victim[name]), 0);
}

function renderStatuses({ statuses, keylessStatuses }: AttackerFigures): string {
  const keyed = entriesOf(statuses);
  const keyless = entriesOf(keylessStatuses);
  return (
    [...keyed, ...(keyless.length > 0 ? [`without a key ${keyless.join(', ')}`] : [])].join(', ') || 'none'
  );
}

function entriesOf(statuses: Readonly<Record<string, number>>): readonly string[] {
  const entries = Object.entries(statuses).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([status, count]) => `${count} × ${status}`);
}

function renderRevocation({ lastByteMs, lastEndMs, open }: Revocation): string {
  return open > 0
    ? `${duration(lastByteMs)}, ${open} still open`
    : `${duration(lastByteMs)}, ${duration(lastEndMs)}`;
}
