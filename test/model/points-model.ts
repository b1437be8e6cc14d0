/**
 * The reference model of points: award by award, with simple calendar arithmetic (decisions 23 to
 * 26).
 */
import { Temporal } from 'temporal-polyfill';
import type { TimeRange } from '../../src/dataset/query.ts';
import type { Scope } from '../../src/domain/scope.ts';
import type { Board, Event, Model, User } from './model.ts';
import { isOnBoard, visibleEvents } from './scope-model.ts';

/** A points policy in its JSON form. */
export interface PolicyInput extends BoardPolicyInput {
  readonly boards?: Readonly<Record<string, BoardPolicyInput>>;
}

export interface BoardPolicyInput {
  readonly rules?: readonly RuleInput[];
  readonly goal?: number;
  readonly weeklyMaximum?: number | null;
  readonly weekStarts?: { readonly day?: string; readonly time?: string; readonly zone?: string };
  readonly window?: { readonly from?: string | null; readonly until?: string | null };
  readonly participationScore?: 'percent' | 'points';
}

export interface RuleInput {
  readonly on: string;
  readonly to: 'actor' | 'owner';
  readonly points: number;
  readonly minWords?: number;
  readonly excludeSelf?: boolean;
  readonly from?: string;
  readonly until?: string;
}

export interface Score {
  readonly total: number;
  readonly score: number;
}

/** A policy with all inherited values filled in. */
interface BoardPolicy extends Required<Omit<BoardPolicyInput, 'weekStarts'>> {
  readonly weekStarts: Week;
}

type Week = Required<NonNullable<BoardPolicyInput['weekStarts']>>;

const DEFAULTS: BoardPolicy = {
  rules: [
    { on: 'pin.created', to: 'actor', points: 10 },
    { on: 'pin.commented', to: 'actor', points: 5 },
  ],
  goal: 100,
  weeklyMaximum: null,
  weekStarts: { day: 'monday', time: '00:00', zone: 'UTC' },
  window: {},
  participationScore: 'percent',
};

const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/**
 * Whether the points maps of a board include a user: users on the board, users who got awards there
 * without ever acting, and users with an adjustment (decision 72).
 */
export function hasPoints(model: Model, user: User, board: Board): boolean {
  if (user.forgotten) return false;
  if (isOnBoard(model, user, board)) return true;
  if (model.adjustments.some((one) => one.userId === user.id && one.boardId === board.id)) return true;
  const { rules } = policyOf(model, board.id);
  const events = model.events.filter(({ boardId }) => boardId === board.id);
  const hasAward = events.some((event) => rules.some((rule) => meets(rule, event, user.id)));
  return hasAward && !events.some(({ actorId }) => actorId === user.id);
}

/** The points total of one user on one board, as in the points routes. */
export function scoreOf(
  model: Model,
  scope: Scope,
  userId: bigint,
  boardId: bigint,
  range: TimeRange,
): Score {
  const imported = model.points.find((record) => record.userId === userId && record.boardId === boardId);
  if (imported !== undefined) {
    const ofBoard = visibleEvents(model, scope).filter((event) => event.boardId === boardId);
    return ofBoard.every(({ timestampMs }) => isInside(timestampMs, range))
      ? { total: imported.totalPoints, score: imported.participationScore }
      : { total: 0, score: 0 };
  }
  const policy = policyOf(model, boardId);
  const adjusted = model.adjustments
    .filter((one) => one.userId === userId && one.boardId === boardId && isInside(one.timestampMs, range))
    .reduce((sum, one) => sum + one.points, 0);
  const counted = countedAwards(model, policy, userId, boardId)
    .filter((award) => isInside(award.timestampMs, range))
    .reduce((sum, award) => sum + award.points, 0);
  const total = Math.max(0, counted + adjusted);
  // round(100 * total / goal), half up, in integers: binary fractions would be inexact
  const percent = Math.floor((200 * total + policy.goal) / (2 * policy.goal));
  return {
    total,
    score: policy.participationScore === 'points' ? Math.min(policy.goal, total) : Math.min(100, percent),
  };
}

export function isInside(timestampMs: number, range: TimeRange): boolean {
  return timestampMs >= (range.startMs ?? -Infinity) && timestampMs < (range.endMs ?? Infinity);
}

/** Boards inherit everything that they omit, including members of `weekStarts` and `window`. */
function policyOf(model: Model, boardId: bigint): BoardPolicy {
  const { boards = {}, ...common } = model.settings.policy ?? {};
  return inherit(inherit(DEFAULTS, common), boards[String(boardId)] ?? {});
}

function inherit(from: BoardPolicy, own: BoardPolicyInput): BoardPolicy {
  const weekStarts = { ...from.weekStarts, ...own.weekStarts };
  return { ...from, ...own, weekStarts, window: { ...from.window, ...own.window } };
}

interface Award {
  readonly timestampMs: number;
  readonly points: number;
}

function countedAwards(model: Model, policy: BoardPolicy, userId: bigint, boardId: bigint): readonly Award[] {
  const counted: Award[] = [];
  const sumOfWeek = new Map<number, number>();
  const events = model.events.filter((event) => event.boardId === boardId);
  for (const event of events.toSorted((one, other) => one.timestampMs - other.timestampMs)) {
    for (const rule of policy.rules) {
      if (!pays(model, rule, event, userId)) continue;
      if (!isInside(event.timestampMs, bounds(policy.window))) continue;
      if (policy.weeklyMaximum !== null) {
        const week = weekStart(policy.weekStarts, event.timestampMs);
        const before = sumOfWeek.get(week) ?? 0;
        if (before >= policy.weeklyMaximum) continue;
        sumOfWeek.set(week, before + rule.points);
      }
      counted.push({ timestampMs: event.timestampMs, points: rule.points });
    }
  }
  return counted;
}

/** Whether the rule makes an award for the event, counted or not. */
function meets(rule: RuleInput, event: Event, userId: bigint): boolean {
  if (rule.on !== `${event.type}.${event.action}`) return false;
  if (userId !== (rule.to === 'actor' ? event.actorId : event.ownerId)) return false;
  return isInside(event.timestampMs, bounds(rule));
}

function pays(model: Model, rule: RuleInput, event: Event, userId: bigint): boolean {
  if (!meets(rule, event, userId)) return false;
  if (rule.excludeSelf === true && event.actorId === event.ownerId) return false;
  const body = event.body ?? model.pins.find((pin) => pin.id === event.pinId)?.body ?? '';
  return body.split(/\s+/).filter((word) => word !== '').length >= (rule.minWords ?? 0);
}

function bounds(input: { readonly from?: string | null; readonly until?: string | null }): TimeRange {
  return {
    startMs: typeof input.from === 'string' ? Date.parse(input.from) : undefined,
    endMs: typeof input.until === 'string' ? Date.parse(input.until) : undefined,
  };
}

/** The latest start of a week that is not after the instant, found by going back day by day. */
function weekStart(week: Week, instantMs: number): number {
  const local = Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(week.zone).toPlainDate();
  for (let daysBack = -1; daysBack < 9; daysBack += 1) {
    const day = local.subtract({ days: daysBack });
    if (DAYS[day.dayOfWeek - 1] !== week.day) continue;
    const start = day.toZonedDateTime({ timeZone: week.zone, plainTime: week.time }).epochMilliseconds;
    if (start <= instantMs) return start;
  }
  throw new Error(`no week begins within nine days before ${instantMs}`);
}
