/** The canonical texts of a question: what entity tags and cursors are bound to. */
import type { KeyEntry } from '../keys/keyring.ts';
import type { Representation, Variant } from '../render/answer.ts';
import { scopeText } from './conditional.ts';
import type { Encoding } from './negotiation.ts';
import type { Parameters } from './parameters.ts';
import type { Route } from './route.ts';
import type { Subject } from './subject.ts';

/** What all pages of a walk have in common; the cursors of a walk are bound to it. */
export function walkText(
  variant: Variant,
  route: Route,
  subject: Subject,
  parameters: Parameters,
  key: KeyEntry,
): string {
  const { start = null, end = null } = parameters;
  return JSON.stringify([variant, route.path, subject.text, start, end, scopeText(key.scope)]);
}

/** What else settles the bytes of an answer from one version. */
export function formText(
  parameters: Parameters,
  key: KeyEntry,
  representation: Representation,
  encoding: Encoding,
): string {
  const { limit = null, cursor = null, key: keyedBy = null } = parameters;
  const { email, name } = key.redact;
  return JSON.stringify([limit, cursor, keyedBy, email, name, representation, encoding]);
}
