/** Whether what was pulled answers as what it was pulled from. */
import assert from 'node:assert/strict';
import type { Question, Variant } from '../model/answers.ts';
import { get, urlPathOf } from '../model/client.ts';
import type { Deployment } from '../model/deployment.ts';
import { WORLD_QUESTIONS } from '../world.ts';

export const BOTH_VARIANTS: readonly Variant[] = ['a', 'b'];

export interface PulledWith {
  readonly organization: string;
  /** Of the pull. */
  readonly key: string;
  readonly variants: readonly Variant[];
  readonly questions?: readonly Question[];
}

/** LTI ids, course ids and LMS properties are in no answer, so they cannot come along. */
function canComeAlong(question: Question): boolean {
  return !('by' in question && question.by !== 'id') && question.route !== 'points of an LMS user';
}

async function answersOf(
  url: string,
  key: string,
  { variants, questions = WORLD_QUESTIONS }: PulledWith,
): Promise<string[]> {
  const answers: string[] = [];
  for (const variant of variants) {
    for (const question of questions.filter(canComeAlong)) {
      const path = urlPathOf(variant, question);
      if (path === undefined) continue;
      const { status, text } = await get(url + path, key);
      answers.push(`${path} ${status} ${text.replace(/,"request_id":"[^"]+"/, '')}`);
    }
  }
  return answers;
}

/** Asked with a key for everything here, as with the key of the pull there. */
export async function assertMirrored(
  source: Pick<Deployment, 'url'>,
  mirror: Deployment,
  pulled: PulledWith,
): Promise<void> {
  const expected = await answersOf(source.url, pulled.key, pulled);
  const own = await mirror.makeKey(pulled.organization);
  assert.deepEqual(await answersOf(mirror.url, own, pulled), expected);
}
