/** Interleaved rounds: each target has one turn per round, and the first target rotates. */
import { median } from './statistics.ts';

type Figures<Name extends string> = Readonly<Record<Name, number>>;

export interface Outcome<Name extends string> {
  /** The values of one turn in each round. */
  readonly rounds: readonly Figures<Name>[];
  readonly median: Figures<Name>;
}

/** Unless `warm` is set, an additional first round warms up all targets and is not counted. */
export async function measureRounds<Target, Name extends string>(
  targets: readonly Target[],
  { count, warm }: { readonly count: number; readonly warm: boolean },
  measure: (target: Target, round: number) => Promise<Figures<Name>>,
): Promise<Outcome<Name>[]> {
  const rounds = targets.map((): Figures<Name>[] => []);
  for (let round = warm ? 1 : 0; round <= count; round++) {
    for (let turn = 0; turn < targets.length; turn++) {
      const index = (turn + round) % targets.length;
      const figures = await measure(targets[index]!, round);
      if (round > 0) rounds[index]!.push(figures);
    }
  }
  return rounds.map(outcomeOf);
}

export function outcomeOf<Name extends string>(rounds: readonly Figures<Name>[]): Outcome<Name> {
  return { rounds, median: medians(rounds) };
}

/** Median of the ratios `one / other` over the rounds; undefined if one of them is missing. */
export function ratioOf<Name extends string>(
  one: Outcome<Name> | undefined,
  other: Outcome<Name> | undefined,
  name: Name,
): number | undefined {
  if (one === undefined || other === undefined) return undefined;
  return median(one.rounds.map((round, index) => round[name] / other.rounds[index]![name]));
}

function medians<Name extends string>(list: readonly Figures<Name>[]): Figures<Name> {
  const names = Object.keys(list[0] ?? {}) as Name[];
  return Object.fromEntries(
    names.map((name) => [name, median(list.map((figures) => figures[name]))]),
  ) as Figures<Name>;
}
