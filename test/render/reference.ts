/**
 * Expected responses, made in the slow and obvious way: objects through `JSON.stringify`, and rows
 * of text for CSV.
 */
import type { RenderedBody } from '../../src/render/text/rendered-body.ts';
import type { Person } from '../dataset/record-columns.ts';
import { escaped } from '../model/json.ts';
import type { PlainEvent, PlainWorld } from './plain-dataset.ts';

declare global {
  interface JSON {
    /** Exists in Node, but not yet in the types: a number exactly as it is written. */
    rawJSON(text: string): unknown;
  }
}

export function jsonOf(value: unknown): string {
  const exact = (_: string, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(member.toString()) : member;
  return escaped(JSON.stringify(value, exact));
}

export function ndjsonOf(values: readonly unknown[]): string {
  return values.map((value) => `${jsonOf(value)}\n`).join('');
}

/** An event in the form of the contract (2.1), with its ids as `bigint`. */
export function eventObject(world: PlainWorld, event: PlainEvent) {
  const { type, action } = world.kinds[event.kind]!;
  const { id, title, domain, categoryId } = world.organization;
  return {
    type,
    action,
    owner: personObject(world.people[event.owner]!),
    actor: personObject(world.people[event.actor]!),
    organization: { id, name: title, domain, category_id: categoryId },
    ...(event.pin >= 0 && { pin: pinObject(world, event.pin, action) }),
    board: { ...world.boards[event.board]! },
    timestamp: new Date(event.timestampMs).toISOString().replace('Z', '+00:00'),
  };
}

function personObject(person: Person) {
  const { id, email, name, role, classRole } = person;
  return { id, email, name, role, class_role: classRole };
}

function pinObject(world: PlainWorld, index: number, activity: string) {
  const { id, title, body, webUrl, imageUrl, tags } = world.pins[index]!;
  return { id, activity, title, body, web_url: webUrl, image_url: imageUrl, tags };
}

/** An event as a row of CSV. Lone surrogates become U+FFFD, as UTF-8 requires. */
export function eventRow(world: PlainWorld, event: PlainEvent): string[] {
  const { type, action, owner, actor, organization, pin, board, timestamp } = eventObject(world, event);
  const pinCells =
    pin === undefined
      ? Array.from({ length: 7 }, () => '')
      : [...Object.values(pin).slice(0, -1), jsonOf(pin.tags)];
  return [
    type,
    action,
    ...Object.values(owner),
    ...Object.values(actor),
    ...Object.values(organization),
    ...pinCells,
    ...Object.values(board),
    timestamp,
  ].map((cell) => String(cell).toWellFormed());
}

/** All bytes of a response, and whether their number equals the announced size. */
export async function collect(answer: RenderedBody<unknown>): Promise<{ bytes: Buffer; exact: boolean }> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.chunks()) chunks.push(Buffer.from(chunk));
  const bytes = Buffer.concat(chunks);
  return { bytes, exact: bytes.length === answer.byteLength };
}

/** The text of a response. Throws if its size differs from the announced one. */
export async function textOf(answer: RenderedBody<unknown>): Promise<string> {
  const { bytes, exact } = await collect(answer);
  if (!exact) throw new Error(`${answer.byteLength} bytes were announced, ${bytes.length} came`);
  return bytes.toString();
}
