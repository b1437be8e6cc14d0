/**
 * Changes to JSON that respect its structure: the result is mostly still JSON, with a different
 * meaning.
 */
import type { Random } from '../../../bench/random.ts';
import { hostileJson, hostileText } from './values.ts';

/** Members are a list, so that a name may be repeated; `raw` is written as it is. */
type Node =
  | { readonly kind: 'object'; members: [name: string, value: Node][] }
  | { readonly kind: 'array'; elements: Node[] }
  | { readonly kind: 'raw'; readonly text: string };

type Container = Extract<Node, { readonly kind: 'object' | 'array' }>;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseExactly = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** The text with one change; undefined if it is not JSON, or has nothing to change. */
export function mutateJson(random: Random, text: string): string | undefined {
  const root = parse(text);
  if (root === undefined) return undefined;
  const containers = [...containersIn(root)];
  if (containers.length === 0) return undefined;
  change(random, random.pick(containers), containers);
  return render(root);
}

function parse(text: string): Node | undefined {
  try {
    return nodeOf(parseExactly(text, keepNumber));
  } catch {
    return undefined;
  }
}

function keepNumber(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined ? { raw: source } : value;
}

/** Text that is nested deeper is left to other mutations. */
const DEEPEST = 200;

function nodeOf(value: unknown, depth = 0): Node {
  if (depth > DEEPEST) throw new RangeError('too deep');
  if (Array.isArray(value)) return { kind: 'array', elements: value.map((one) => nodeOf(one, depth + 1)) };
  if (typeof value !== 'object' || value === null) return raw(JSON.stringify(value));
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === 'raw' && typeof first[1] === 'string') return raw(first[1]);
  return { kind: 'object', members: entries.map(([name, member]) => [name, nodeOf(member, depth + 1)]) };
}

function raw(text: string): Node {
  return { kind: 'raw', text };
}

function* containersIn(node: Node): Generator<Container> {
  if (node.kind === 'raw') return;
  yield node;
  for (const child of childrenOf(node)) yield* containersIn(child);
}

function childrenOf(node: Container): readonly Node[] {
  return node.kind === 'array' ? node.elements : node.members.map(([, value]) => value);
}

function render(node: Node): string {
  switch (node.kind) {
    case 'raw':
      return node.text;
    case 'array':
      return `[${node.elements.map(render).join(',')}]`;
    case 'object':
      return `{${node.members.map(([name, value]) => `${JSON.stringify(name)}:${render(value)}`).join(',')}}`;
  }
}

function change(random: Random, container: Container, all: readonly Container[]): void {
  if (container.kind === 'array') changeArray(random, container, all);
  else changeObject(random, container, all);
}

function changeArray(
  random: Random,
  container: Extract<Node, { kind: 'array' }>,
  all: readonly Container[],
): void {
  const { elements } = container;
  const at = random.below(elements.length + 1);
  switch (random.below(6)) {
    case 0:
      elements.splice(at, 1);
      break;
    case 1:
      elements.splice(at, 0, raw(hostileJson(random)));
      break;
    case 2:
      elements.splice(at, 0, ...elements.slice(at, at + 1));
      break;
    case 3:
      elements.splice(at, 1, copied(random.pick(all)));
      break;
    case 4:
      container.elements = elements.toReversed();
      break;
    default:
      elements.splice(at, 1, raw(hostileJson(random)));
  }
}

function changeObject(
  random: Random,
  container: Extract<Node, { kind: 'object' }>,
  all: readonly Container[],
): void {
  const { members } = container;
  const at = random.below(members.length);
  const member = members[at];
  if (member === undefined) {
    members.push([hostileText(random), raw(hostileJson(random))]);
    return;
  }
  const [name, value] = member;
  switch (random.below(10)) {
    case 0:
      members.splice(at, 1);
      break;
    case 1:
      members.splice(random.below(members.length + 1), 0, [name, raw(hostileJson(random))]);
      break;
    case 2:
      member[0] = renamed(random, name);
      break;
    case 3:
      member[1] = random.below(2) === 0 ? { kind: 'array', elements: [value] } : wrapped(name, value);
      break;
    case 4:
      container.members = members.filter(([one]) => /id$/i.test(one));
      break;
    case 5:
      member[1] = copied(random.pick(all));
      break;
    case 6:
      member[1] = raw(JSON.stringify(unquoted(value)));
      break;
    default:
      member[1] = raw(hostileJson(random));
  }
}

function wrapped(name: string, value: Node): Node {
  return { kind: 'object', members: [[name, value]] };
}

/** Copies through text, so that no node contains itself. */
function copied(node: Node): Node {
  return raw(render(node));
}

/** A number as a text, or a text that contains a number without its quotes. */
function unquoted(node: Node): string {
  return node.kind === 'raw' ? node.text.replaceAll('"', '') : render(node).slice(0, 200);
}

function renamed(random: Random, name: string): string {
  return random.pick([
    `${name} `,
    name.toUpperCase(),
    `${name}s`,
    '__proto__',
    'constructor',
    '',
    hostileText(random),
    name.replace('_', '.'),
    `lms.${name}`,
  ]);
}
