/** Compares the responses of a copy with those of its source. */
import assert from 'node:assert/strict';
import type { ParsedRequest, Variant } from '../model/answers.ts';
import { get, urlPathOf } from '../model/client.ts';
import type { Deployment } from '../model/deployment.ts';
import { WORLD_QUESTIONS } from '../world.ts';

export const BOTH_VARIANTS: readonly Variant[] = ['a', 'b'];

export interface PulledWith {
  readonly organization: string;
  /** The key of the pull. */
  readonly key: string;
  readonly variants: readonly Variant[];
  readonly questions?: readonly ParsedRequest[];
}

/** LTI ids, course ids and LMS properties are in no response, so a pull cannot copy them. */
function canComeAlong(question: ParsedRequest): boolean {
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

/** Compares responses for a key with full scope on the copy with those for the key of the pull. */
export async function assertMirrored(
  source: Pick<Deployment, 'url'>,
  mirror: Deployment,
  pulled: PulledWith,
): Promise<void> {
  const expected = await answersOf(source.url, pulled.key, pulled);
  const own = await mirror.makeKey(pulled.organization);
  assert.deepEqual(await answersOf(mirror.url, own, pulled), expected);
}
