/**
 * A plain model of the organizations in a place, and random walks of commands over it: what each
 * command should leave, so that a test can compare it with what is served and stored.
 */
import fc from 'fast-check';

/** Users of an organization: the numbers of those who were imported. */
export interface Content {
  readonly users: ReadonlySet<number>;
  readonly erased: ReadonlySet<number>;
}

export interface Organization extends Content {
  /** Distinguishes organizations whatever their names: it is a part of all their addresses. */
  readonly identity: number;
  readonly name: string;
  /**
   * The versions that can be restored, by their numbers; the current one is the last. Undefined if
   * a restore was killed: it may have published once or twice.
   */
  readonly versions: ReadonlyMap<number, ReadonlySet<number>> | undefined;
  readonly keys: ReadonlySet<string>;
  /** Whether it has a rule that deletes old events. */
  readonly hasRule: boolean;
}

export type State = readonly Organization[];

export interface Backup {
  readonly folder: string;
  readonly state: State;
}

/** A step of a walk; the numbers choose among what is there when it is taken. */
export interface Step {
  readonly act: (typeof ACTS)[number];
  readonly which: number;
  readonly other: number;
  /** Where the command is killed, as a fraction of its steps; undefined: nowhere. */
  readonly killed: number | undefined;
  /** Whether a killed command is run again at once, if it need not be. */
  readonly isRepeated: boolean;
  /** On which of two machines it runs; each has a cache of its own. */
  readonly machine: 0 | 1;
}

const ACTS = [
  ...(['import', 'import', 'forget', 'forget', 'forget', 'rename', 'rename', 'rename'] as const),
  ...(['remove', 'backup', 'restore', 'restore', 'restore-one', 'restore-one'] as const),
  ...(['copy', 'rollback', 'expire', 'key'] as const),
];
export const NAMES = ['north', 'south', 'east', 'East'] as const;
const STEPS = 6;

const STEP: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom(...ACTS),
  which: fc.nat(1_000),
  other: fc.nat(1_000),
  killed: fc.option(
    fc.integer({ min: 0, max: 999 }).map((part) => part / 1_000),
    { nil: undefined },
  ),
  isRepeated: fc.boolean(),
  machine: fc.constantFrom(0, 1),
});

/** The same seed gives the same walks. */
export function walksOf(seed: number, count: number): readonly (readonly Step[])[] {
  const walk = fc.array(STEP, { minLength: STEPS, maxLength: STEPS });
  return fc.sample(walk, { seed, numRuns: count });
}

export function isNamed(name: string): (one: { readonly name: string }) => boolean {
  return (one) => one.name.toLowerCase() === name.toLowerCase();
}

/** Replaces an organization by identity, or adds it. */
export function withOrganization(state: State, changed: Organization): State {
  const others = state.filter(({ identity }) => identity !== changed.identity);
  return [...others, changed];
}

/** After a publication: a version more, of which the last three are kept. */
export function published(one: Organization, users: ReadonlySet<number>): Organization {
  return { ...one, users, versions: nextVersions(one, users, 3) };
}

/** After an erasure: the only version. */
export function forgotten(one: Organization, user: number): Organization {
  if (one.erased.has(user)) return one;
  return { ...one, erased: new Set([...one.erased, user]), versions: nextVersions(one, one.users, 1) };
}

function nextVersions({ versions }: Organization, users: ReadonlySet<number>, kept: number) {
  if (versions === undefined) return undefined;
  const number = Math.max(0, ...versions.keys()) + 1;
  return new Map([...versions, [number, users] as const].slice(-kept));
}

/**
 * After a restore of these organizations of a backup, by their present names; undefined if it must
 * be refused.
 */
export function restored(
  state: State,
  backup: State,
  names: readonly string[] | undefined,
): State | undefined {
  let after = state;
  for (const name of names ?? backup.map((one) => one.name)) {
    const present = names === undefined ? undefined : state.find(isNamed(name));
    const original =
      backup.find(({ identity }) => identity === present?.identity) ?? backup.find(isNamed(name));
    if (original === undefined) return undefined;
    const nameThere = original.identity === present?.identity ? present.name : original.name;
    const twin = state.find(({ identity }) => identity === original.identity);
    if (twin !== undefined && !isNamed(nameThere)(twin)) return undefined;
    if (twin === undefined && state.some(isNamed(nameThere))) return undefined;
    after = withOrganization(after, adopted(original, twin));
  }
  return after;
}

/** An organization of a backup in the place of what it is there. */
export function adopted(original: Organization, twin: Organization | undefined): Organization {
  const { versions } = original;
  const only = versions && new Map([[Math.max(...versions.keys()), original.users]]);
  return {
    ...original,
    name: twin?.name ?? original.name,
    hasRule: (twin ?? original).hasRule,
    erased: new Set([...original.erased, ...(twin?.erased ?? [])]),
    versions: twin === undefined ? only : nextVersions(twin, original.users, 1),
    keys: new Set([...original.keys, ...(twin?.keys ?? [])]),
  };
}
