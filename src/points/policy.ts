/**
 * Which events earn points on a board, and how a total becomes a score: the organization's policy
 * with overrides per board (decisions 23 to 25), read from JSON text. `docs/points.md` is its
 * reference.
 */
import { AppError } from '../domain/app-error.ts';
import { parseIdentifier } from '../domain/identifier.ts';
import { EXPECTED_ZONE, expectedZone, meaningsOf, zoneOf } from '../system/zones.ts';

import {
  type Member,
  readBoolean,
  readChoice,
  readElements,
  readEntries,
  readInstant,
  readInteger,
  readMembers,
  refuse,
  refuseValue,
} from './policy-member.ts';

/**
 * `[fromMs, untilMs)` in Unix milliseconds: the start is included, the end is not. An absent bound
 * is open.
 */
export interface Span {
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** A rule that grants an award per matching event. Events outside its span do not match. */
export interface Rule extends Span {
  /** Kind of the events that earn, as `type.action`. */
  readonly on: string;
  readonly to: 'actor' | 'owner';
  /** Safe integer, at least 0. */
  readonly points: number;
  /** Minimum number of words in the body of the event, or else of its pin; 0: no minimum. */
  readonly minWords: number;
  /** Whether events whose actor is also the owner earn nothing. */
  readonly excludeSelf: boolean;
}

/** When a week starts (decision 24). */
export interface Week {
  /** As in ISO 8601: Monday is 1, Sunday is 7. */
  readonly day: Weekday;
  /** From 0 to 1439. */
  readonly minuteOfDay: number;
  /** Name of an IANA time zone. */
  readonly zone: string;
}

export type Weekday = 1 | 2 | 3 | 4 | 5 | 6 | 7;

export interface BoardPolicy {
  readonly rules: readonly Rule[];
  /** Points for a participation score of 100 %; at least 1. */
  readonly goal: number;
  /** Soft maximum per week (decision 24); absent: none. */
  readonly weeklyMaximum: number | undefined;
  readonly weekStarts: Week;
  /** Only events inside this window earn. */
  readonly window: Span;
  readonly participationScore: 'percent' | 'points';
}

export interface Policy {
  readonly default: BoardPolicy;
  /** Boards with their own policy; inherited values are filled in. */
  readonly boards: ReadonlyMap<bigint, BoardPolicy>;
}

const EVER: Span = { fromMs: undefined, untilMs: undefined };

/** The policy of organizations without one of their own (decision 23). */
export const DEFAULT_POLICY: Policy = {
  default: {
    rules: [
      { on: 'pin.created', to: 'actor', points: 10, minWords: 0, excludeSelf: false, ...EVER },
      { on: 'pin.commented', to: 'actor', points: 5, minWords: 0, excludeSelf: false, ...EVER },
    ],
    goal: 100,
    weeklyMaximum: undefined,
    weekStarts: { day: 1, minuteOfDay: 0, zone: 'UTC' },
    window: EVER,
    participationScore: 'percent',
  },
  boards: new Map(),
};

/** The policy in force on a board: its own, otherwise the organization's. */
export function policyOf(policy: Policy, boardId: bigint): BoardPolicy {
  return policy.boards.get(boardId) ?? policy.default;
}

/** The time zones of the weeks that have a maximum, each once. */
export function zonesOf(policy: Policy): readonly string[] {
  const limited = [policy.default, ...policy.boards.values()].filter(
    (one) => one.weeklyMaximum !== undefined,
  );
  return [...new Set(limited.map(({ weekStarts }) => weekStarts.zone))];
}

/**
 * Reads a policy from JSON text; empty text is the default policy. Absent members are inherited, at
 * any depth: boards inherit from the organization's policy, the organization's policy from the
 * default. Throws `policy-malformed`.
 */
export function readPolicy(text: string): Policy {
  if (text === '') return DEFAULT_POLICY;
  const root: Member = { path: '$', value: parseJson(text) };
  const members = readMembers(root, [...BOARD_MEMBERS, 'boards']);
  const organization = readBoardPolicy(members, DEFAULT_POLICY.default);
  const boards = members.get('boards');
  return {
    default: organization,
    boards: boards === undefined ? new Map() : readBoards(boards, organization),
  };
}

function parseJson(text: string): unknown {
  try {
    // Windows editors may start files with a byte order mark, which JSON does not allow.
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    const trouble = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('policy-malformed', `The policy is not valid JSON: ${trouble}.`, {
      cause,
    });
  }
}

function readBoards(member: Member, organization: BoardPolicy): ReadonlyMap<bigint, BoardPolicy> {
  const boards = new Map<bigint, BoardPolicy>();
  for (const [name, board] of readEntries(member)) {
    const id = parseIdentifier(name);
    if (id === undefined) refuse(board, 'is not named by a board; expected its id, a 64-bit integer');
    if (boards.has(id)) refuse(board, `names board ${id} again; expected each board once`);
    boards.set(id, readBoardPolicy(readMembers(board, BOARD_MEMBERS), organization));
  }
  return boards;
}

const BOARD_MEMBERS = ['rules', 'goal', 'weeklyMaximum', 'weekStarts', 'window', 'participationScore'];

function readBoardPolicy(members: ReadonlyMap<string, Member>, inherited: BoardPolicy): BoardPolicy {
  const rules = members.get('rules');
  const goal = members.get('goal');
  const weeklyMaximum = members.get('weeklyMaximum');
  const weekStarts = members.get('weekStarts');
  const window = members.get('window');
  const score = members.get('participationScore');
  const week = weekStarts ? readWeek(weekStarts, inherited.weekStarts) : inherited.weekStarts;
  const most = weeklyMaximum ? readWeeklyMaximum(weeklyMaximum) : inherited.weeklyMaximum;
  const chooses = weekStarts ?? weeklyMaximum;
  if (chooses !== undefined && most !== undefined && zoneOf(week.zone) === undefined)
    refuse(chooses, `has weeks of the time zone "${week.zone}"; expected ${expectedZone(week.zone)}`);
  return {
    rules: rules ? readElements(rules).map(readRule) : inherited.rules,
    goal: goal ? readInteger(goal, 1) : inherited.goal,
    weeklyMaximum: most,
    weekStarts: week,
    window: window ? readSpan(window, readMembers(window, SPAN_MEMBERS), inherited.window) : inherited.window,
    participationScore: score ? readChoice(score, ['percent', 'points']) : inherited.participationScore,
  };
}

const SPAN_MEMBERS = ['from', 'until'];
const RULE_MEMBERS = ['on', 'to', 'points', 'minWords', 'excludeSelf', ...SPAN_MEMBERS];

function readRule(rule: Member): Rule {
  const members = readMembers(rule, RULE_MEMBERS, ['on', 'to', 'points']);
  const minWords = members.get('minWords');
  const excludeSelf = members.get('excludeSelf');
  return {
    on: readKind(members.get('on')!),
    to: readChoice(members.get('to')!, ['actor', 'owner']),
    points: readInteger(members.get('points')!, 0),
    minWords: minWords ? readInteger(minWords, 0) : 0,
    excludeSelf: excludeSelf ? readBoolean(excludeSelf) : false,
    ...readSpan(rule, members, EVER),
  };
}

function readKind(member: Member): string {
  const { value } = member;
  // No event has a kind with leading or trailing white space, so such a rule would silently never
  // earn.
  if (typeof value === 'string' && /^[^.]+\.[^.]+$/.test(value) && value.trim() === value) return value;
  return refuseValue(member, 'the type and the action of an event joined by a dot, such as "pin.created"');
}

function readSpan(owner: Member, members: ReadonlyMap<string, Member>, inherited: Span): Span {
  const from = members.get('from');
  const until = members.get('until');
  const fromMs = from ? readInstant(from) : inherited.fromMs;
  const untilMs = until ? readInstant(until) : inherited.untilMs;
  if (fromMs !== undefined && untilMs !== undefined && fromMs >= untilMs) {
    refuse(owner, 'ends before it begins or as it begins; expected "until" to be later than "from"');
  }
  return { fromMs, untilMs };
}

function readWeeklyMaximum(member: Member): number | undefined {
  return member.value === null ? undefined : readInteger(member, 1, ', or null for none');
}

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const WEEKDAY_NUMBERS = {
  monday: 1,
  tuesday: 2,
  wednesday: 3,
  thursday: 4,
  friday: 5,
  saturday: 6,
  sunday: 7,
} as const;

function readWeek(week: Member, inherited: Week): Week {
  const members = readMembers(week, ['day', 'time', 'zone']);
  const day = members.get('day');
  const time = members.get('time');
  const zone = members.get('zone');
  return {
    day: day ? WEEKDAY_NUMBERS[readChoice(day, WEEKDAYS)] : inherited.day,
    minuteOfDay: time ? readMinuteOfDay(time) : inherited.minuteOfDay,
    zone: zone ? readZone(zone) : inherited.zone,
  };
}

function readMinuteOfDay(member: Member): number {
  const match = typeof member.value === 'string' ? /^([01]\d|2[0-3]):([0-5]\d)$/.exec(member.value) : null;
  if (match === null) refuseValue(member, 'a time from "00:00" to "23:59"');
  return Number(match[1]) * 60 + Number(match[2]);
}

/** Also one of several meanings, which 0.2 took where no maximum counts weeks. */
function readZone(member: Member): string {
  const { value } = member;
  if (typeof value !== 'string') return refuseValue(member, EXPECTED_ZONE);
  return (zoneOf(value) ?? meaningsOf(value)) ? value : refuseValue(member, expectedZone(value));
}
