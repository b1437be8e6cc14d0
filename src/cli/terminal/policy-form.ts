/** A points policy in the form of its configuration, with all inherited values. */
import { formatInstant } from '../../domain/instant.ts';
import type { BoardPolicy, Policy, Rule, Span } from '../../points/policy.ts';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

export function describePolicy(policy: Policy): object {
  const boards = [...policy.boards].map(([id, board]) => [String(id), describeBoardPolicy(board)] as const);
  return {
    ...describeBoardPolicy(policy.default),
    ...(boards.length > 0 && { boards: Object.fromEntries(boards) }),
  };
}

function describeBoardPolicy(policy: BoardPolicy): object {
  const { day, minuteOfDay, zone } = policy.weekStarts;
  const time = [Math.floor(minuteOfDay / 60), minuteOfDay % 60].map((part) => String(part).padStart(2, '0'));
  return {
    rules: policy.rules.map(describeRule),
    goal: policy.goal,
    weeklyMaximum: policy.weeklyMaximum ?? null,
    weekStarts: { day: WEEKDAYS[day - 1], time: time.join(':'), zone },
    window: describeSpan(policy.window),
    participationScore: policy.participationScore,
  };
}

function describeRule({ fromMs, untilMs, ...rule }: Rule): object {
  return { ...rule, ...describeSpan({ fromMs, untilMs }) };
}

function describeSpan({ fromMs, untilMs }: Span): object {
  return {
    from: fromMs === undefined ? null : formatInstant(fromMs),
    until: untilMs === undefined ? null : formatInstant(untilMs),
  };
}
