/**
 * Clocks of users (decisions 19, 63): the sequence of the last change to the fields that a key can
 * see. There is one clock for all fields and one for each kind of redaction, so that a change to a
 * redacted field is not a change for that key.
 */
import { isDerivedName } from './derived-name.ts';
import type { Redaction } from './redaction.ts';

/** The user fields that a reader cannot see. The id is not listed because it never changes. */
export type Unseen = Pick<Redaction, 'email' | 'name'>;

const CLOCKS = ['revised', 'revised_but_email', 'revised_but_name', 'revised_but_both'] as const;
export type UserClock = (typeof CLOCKS)[number];

/** The clocks that version files of format 3 lack. */
export const LATER_USER_CLOCKS = CLOCKS.slice(1);

export function clockOf({ email, name }: Unseen): UserClock {
  if (email) return name ? 'revised_but_both' : 'revised_but_email';
  return name ? 'revised_but_name' : 'revised';
}

const differs = (value: (row: string) => string) => `${value('m')} IS DISTINCT FROM ${value('t')}`;
const [email, role, classRole] = ['email', 'role', 'class_role'].map((column) =>
  differs((row) => `${row}.${column}`),
);
/** A derived name is hidden together with the address. */
const shownName = differs((row) => `CASE WHEN ${isDerivedName(row)} THEN NULL ELSE ${row}.name END`);

/**
 * The clock columns of users, in column order, each with the SQL condition under which a change
 * moves it. `m` is the new row and `t` the old one. The conditions cover the user fields that
 * events show.
 */
export const USER_CLOCKS: Readonly<Record<UserClock, string>> = {
  revised: 'true',
  revised_but_email: `(${shownName} OR ${role} OR ${classRole})`,
  revised_but_name: `(${email} OR ${role} OR ${classRole})`,
  revised_but_both: `(${role} OR ${classRole})`,
};

/** The same for boards and pins, which have a single clock. */
export const THING_CLOCKS: Readonly<Record<string, string>> = { revised: 'true' };
