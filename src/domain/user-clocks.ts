/**
 * Since when users have the words that a key sees of them (decisions 19, 63): the sequences from
 * which on they have them, one for all words, and one for each way to redact, so that a change of
 * what a key may not see is no change for it.
 */
import { isDerivedName } from './derived-name.ts';
import type { Redaction } from './redaction.ts';

/** What of users a reader does not see. An id never changes. */
export type Unseen = Pick<Redaction, 'email' | 'name'>;

const CLOCKS = ['revised', 'revised_but_email', 'revised_but_name', 'revised_but_both'] as const;
export type UserClock = (typeof CLOCKS)[number];

/** Those that format 3 of generations has not. */
export const LATER_USER_CLOCKS = CLOCKS.slice(1);

export function clockOf({ email, name }: Unseen): UserClock {
  if (email) return name ? 'revised_but_both' : 'revised_but_email';
  return name ? 'revised_but_name' : 'revised';
}

const differs = (value: (row: string) => string) => `${value('m')} IS DISTINCT FROM ${value('t')}`;
const [email, role, classRole] = ['email', 'role', 'class_role'].map((column) =>
  differs((row) => `${row}.${column}`),
);
/** A derived name is hidden with the address. */
const shownName = differs((row) => `CASE WHEN ${isDerivedName(row)} THEN NULL ELSE ${row}.name END`);

/**
 * Columns of users, in their order, and when a change moves them: in SQL, of a row `m` and of `t`,
 * what it was before. They are about what events show of people.
 */
export const USER_CLOCKS: Readonly<Record<UserClock, string>> = {
  revised: 'true',
  revised_but_email: `(${shownName} OR ${role} OR ${classRole})`,
  revised_but_name: `(${email} OR ${role} OR ${classRole})`,
  revised_but_both: `(${role} OR ${classRole})`,
};

/** Boards and pins have one clock. */
export const THING_CLOCKS: Readonly<Record<string, string>> = { revised: 'true' };
