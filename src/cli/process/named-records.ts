/** Users and boards as people name them: by address, by title, or by LTI id, in place of an id. */
import type { Dataset } from '../../dataset/dataset.ts';
import { AppError } from '../../domain/app-error.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { quoted } from '../../domain/shortened-text.ts';
import type { RecordName } from '../terminal/options.ts';
import { type StorageOptions, withStore } from './storage.ts';

/** Options that name users or boards, before and after `withIds`. */
interface NamingOptions extends StorageOptions {
  readonly organization: string;
  readonly user?: unknown;
  readonly users?: unknown;
  readonly board?: unknown;
  readonly boards?: unknown;
}

const KINDS = { user: 'users', users: 'users', board: 'boards', boards: 'boards' } as const;
/** How many candidates a message names. */
const MOST_NAMED = 5;

type NamedKind = (typeof KINDS)[keyof typeof KINDS];

interface Candidate {
  readonly id: bigint;
  /** What tells it from others of the same name. */
  readonly details: string;
}

/**
 * The options with ids in place of names. Throws `not-found`, and `option-malformed` if a name has
 * several meanings.
 */
export async function withIds<O extends NamingOptions>(options: O): Promise<O> {
  const named = Object.entries(KINDS).filter(([option]) => hasNames(Reflect.get(options, option)));
  if (named.length === 0) return options;
  const ids = await withStore(options, async (store) => {
    const dataset = await store.openDataset(options.organization);
    if (dataset === undefined)
      throw new AppError('not-published', `${options.organization} has no data yet.`);
    try {
      const found: Record<string, unknown> = {};
      for (const [option, kind] of named) {
        const given: unknown = Reflect.get(options, option);
        const names = [given].flat() as readonly RecordName[];
        const resolved = await idsOf(dataset, kind, names);
        found[option] = Array.isArray(given) ? inOrder(resolved) : resolved[0];
      }
      return found;
    } finally {
      await dataset.close();
    }
  });
  return { ...options, ...ids };
}

function hasNames(value: unknown): boolean {
  return [value].flat().some((one) => typeof one === 'object' && one !== null);
}

function inOrder(ids: readonly bigint[]): readonly bigint[] {
  return [...new Set(ids)].sort((one, other) => (one < other ? -1 : 1));
}

async function idsOf(
  dataset: Dataset,
  kind: NamedKind,
  names: readonly RecordName[],
): Promise<readonly bigint[]> {
  const wanted = names.flatMap((one) => (typeof one === 'bigint' ? [] : [one.name.toLowerCase()]));
  const found = new Map<string, Candidate[]>(wanted.map((name) => [name, []]));
  const others = new Set<string>();
  for await (const { words, candidate } of recordsIn(dataset, kind)) {
    for (const word of new Set(words)) found.get(word.toLowerCase())?.push(candidate);
    others.add(words[0] ?? '');
  }
  return names.map((one) => {
    if (typeof one === 'bigint') return one;
    const [first, ...more] = found.get(one.name.toLowerCase()) ?? [];
    if (first === undefined) throw notFound(kind, one.name, others);
    if (more.length > 0) throw ambiguous(kind, one.name, [first, ...more]);
    return first.id;
  });
}

/** All records, each with the words that name it. */
async function* recordsIn(
  dataset: Dataset,
  kind: NamedKind,
): AsyncGenerator<{ readonly words: readonly string[]; readonly candidate: Candidate }> {
  if (kind === 'users') {
    for await (const { id: ids, email, name } of dataset.records('users')) {
      for (const [at, id] of ids.entries())
        yield { words: [email.at(at)], candidate: { id, details: name.at(at) } };
    }
    return;
  }
  for await (const { id: ids, title, lti_id: ltiId, course_id: course } of dataset.records('boards')) {
    for (const [at, id] of ids.entries()) {
      const words = [title.at(at), ltiId.at(at)].filter((word) => word !== '');
      const details = [title.at(at), ltiId.at(at), course.at(at)].filter((word) => word !== '').join(', ');
      yield { words, candidate: { id, details } };
    }
  }
}

function notFound(kind: NamedKind, name: string, others: ReadonlySet<string>): AppError {
  const nearest = nearestName(name, others);
  const hint = nearest === undefined ? '' : ` The nearest is ${quoted(nearest)}.`;
  const what = kind === 'users' ? 'user with the address' : 'board with the title or LTI id';
  return new AppError('not-found', `There is no ${what} ${quoted(name)}.${hint}`);
}

function ambiguous(kind: NamedKind, name: string, candidates: readonly Candidate[]): AppError {
  const listed = candidates.slice(0, MOST_NAMED).map(({ id, details }) => `${id} (${details})`);
  const rest = candidates.length > MOST_NAMED ? ` and ${candidates.length - MOST_NAMED} more` : '';
  return new AppError(
    'option-malformed',
    `Several ${kind} are named ${quoted(name)}: ${listed.join(', ')}${rest}. Give the id.`,
  );
}
