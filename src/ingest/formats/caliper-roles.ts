/** Roles of memberships in Caliper, which has those of LIS, as the class role of a user. */
import { type FormatSource, wordOf } from './format.ts';

/**
 * Class role by role. A membership with several has the first of this table. Other sub-roles, such
 * as `Learner#GuestLearner`, count as their principal role.
 */
export const CLASS_ROLES: Readonly<Record<string, string>> = {
  'Instructor#TeachingAssistant': 'teaching-assistant',
  Instructor: 'instructor',
  Learner: 'student',
  Mentor: 'mentor',
  ContentDeveloper: 'content-developer',
  Manager: 'manager',
  Administrator: 'administrator',
  Officer: 'officer',
  Member: 'member',
};

/** What precedes the role if it is an IRI: `http://purl.imsglobal.org/vocab/lis/v2/membership#`. */
const VOCABULARY = /^.*\/membership[#/]/;
/** Followed by the level at which the user assists, such as `Section`. */
const ASSISTANT = 'Instructor#TeachingAssistant';

/** Undefined if the membership has ended, or has none of the roles. */
export function classRoleOf(membership: FormatSource): string | undefined {
  const { status, roles } = membership;
  if (status !== undefined && status !== null && status !== 'Active') return undefined;
  const given = Array.isArray(roles) ? roles.map(roleOf) : [];
  const role = Object.keys(CLASS_ROLES).find((known) => given.includes(known));
  return role && CLASS_ROLES[role];
}

function roleOf(given: unknown): string {
  const role = wordOf(given).replace(VOCABULARY, '');
  return role.startsWith(ASSISTANT) ? ASSISTANT : (role.split('#', 1)[0] ?? '');
}
