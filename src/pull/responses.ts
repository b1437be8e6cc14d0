/**
 * Reads the bodies of a server in bounded memory, and checks every record before it is kept
 * (decision 61): its shape, its ids as 64-bit integers, its texts. The output consists of new
 * lines. Only the text of an event remains as it was sent, because an import parses all of it
 * again.
 */
import { createHash } from 'node:crypto';
import { parseIdentifier } from '../domain/identifier.ts';
import { parseDateTime } from '../domain/instant.ts';
import { isSyncId, SYNC_ID_RULE } from '../domain/record-text.ts';
import { quoted } from '../domain/shortened-text.ts';
import { readObject } from '../ingest/fields/json.ts';
import { Damage, Refusal } from '../ingest/fields/refusal.ts';
import { readElements, readMembers } from '../ingest/input/json-array.ts';
import { type Line, LONGEST_RECORD_BYTES, readLines } from '../ingest/input/lines.ts';
import { type Item, lineOf } from './kept-lines.ts';
import { refused } from './refusal.ts';

/** The body of a response as lines to keep, many at a time. Throws `source-refused`. */
export type ResponseReading = (body: AsyncIterable<Buffer>) => AsyncGenerator<string>;

export const readUsers = reading('its users', readElements, (text) => {
  const user = readObject(text);
  const { id, email, name, first_name, last_name, role } = user;
  requireId(user, 'id');
  allowTexts(user, ['email', 'name', 'first_name', 'last_name', 'role']);
  return lineOf({ id, email, name, first_name, last_name, role });
});

export function readBoards(most: number): ResponseReading {
  return reading('its boards', readElements, (text, record) => {
    const board = readObject(text);
    const { id, title, category } = board;
    requireId(board, 'id');
    allowTexts(board, ['title', 'category']);
    if (record > most) throw new Refusal('', `there are more than ${most.toLocaleString('en')} boards`);
    return lineOf({ id, title, category });
  });
}

export const readEvents = reading('its events', readElements, (text) => {
  checkEvent(readObject(text));
  return `${onOneLine(text)}\n`;
});

const SYNC_ID = /,\s*"sync_id"\s*:\s*"(?:[^"\\]|\\.)*"\s*\}$/;
/**
 * Characters at the end of an event that can contain its `sync_id`, even if each of its characters
 * is an escape. The pattern would exceed the stack in a longer text.
 */
const SYNC_ID_END = 4096;

/**
 * Each line consists of the id of the actor or of a forgotten user, a tab, and the event, if any.
 * The id of the event identifies it in later imports. A deleted event has no actor, but `-`.
 */
export const readPage = reading('a page of its events', readLines, (line) => {
  const text = line.trim();
  if (text === '') return '';
  const event = readObject(text);
  const forgotten = event['forgotten'];
  if (forgotten !== undefined) return `${requireId(requireObject(event, 'forgotten'), 'user')}\t\n`;
  const syncId = event['sync_id'];
  if (!isSyncId(syncId)) throw new Refusal('sync_id', SYNC_ID_RULE);
  if (event['deleted'] === true) return `-\t${lineOf({ id: idOf(syncId), deleted: true })}`;
  const { actor } = checkEvent(event);
  // The last member: it takes precedence over an id that the event has of its own.
  return `${actor}\t${onOneLine(beforeSyncId(text))},"id":${idOf(syncId)}}\n`;
});

/** The text of an event up to its last member. Throws `Refusal` if that is not the `sync_id`. */
function beforeSyncId(text: string): string {
  const from = Math.max(0, text.length - SYNC_ID_END);
  const end = SYNC_ID.exec(text.slice(from))?.index;
  if (end === undefined) throw new Refusal('sync_id', 'must be the last member');
  return text.slice(0, from + end);
}

/** Points of one board; `boardId` comes from the server. */
export function readPoints(boardId: string): ResponseReading {
  return reading('its points', readMembers, (text) => {
    const [record] = Object.values(readObject(`{${text}}`));
    if (!isObject(record)) throw new Refusal('', 'must be an object');
    const { user_id, board_id, total_points, participation_score } = record;
    for (const name of ['user_id', 'total_points', 'participation_score']) requireId(record, name);
    if (requireId(record, 'board_id') !== boardId)
      throw new Refusal('board_id', 'is not the board that was asked for');
    return lineOf({ user_id, board_id, total_points, participation_score });
  });
}

/** Divides bytes into the texts of records, many at a time. Throws `Damage`. */
type DivideRecords = (bytes: AsyncIterable<Buffer>) => AsyncIterable<readonly Line[]>;

function reading(
  what: string,
  cut: DivideRecords,
  keep: (text: string, record: number) => string,
): ResponseReading {
  return async function* (body) {
    const quiet = { bytes: 0, isEmpty: true };
    let records = 0;
    try {
      for await (const lines of cut(counted(body, quiet))) {
        if (lines.length > 0) quiet.bytes = 0;
        let kept = '';
        for (const { text, problem } of lines) {
          records += 1;
          if (problem !== undefined) throw new Refusal('', problem);
          kept += keep(text, records);
        }
        yield kept;
      }
    } catch (error) {
      // Only a page may be empty.
      if (error instanceof Damage && quiet.isEmpty && cut === readLines) return;
      throw unfit(what, records, error);
    }
  };
}

/**
 * Limits the length of a record, so that an unclosed one does not take as much as the largest
 * response.
 */
async function* counted(
  body: AsyncIterable<Buffer>,
  quiet: { bytes: number; isEmpty: boolean },
): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    quiet.isEmpty = false;
    quiet.bytes += chunk.length;
    if (quiet.bytes > LONGEST_RECORD_BYTES + chunk.length) throw new Damage('a record is longer than 16 MiB');
    yield chunk;
  }
}

function unfit(what: string, record: number, error: unknown): unknown {
  if (error instanceof Damage) return refused(`${what} do not match the API description: ${error.message}`);
  if (!(error instanceof Refusal)) return error;
  // The message of the JSON parser repeats its input.
  const reason = error.reason.startsWith('is not valid JSON') ? 'is not valid JSON' : error.reason;
  // The name of a member is text of the server, which can contain terminal escapes.
  const field = error.field === '' ? '' : `${quoted(error.field)} `;
  return refused(`${what} do not match the API description (record ${record}: ${field}${reason})`);
}

interface Named {
  readonly actor: string;
}

/** Checks what a pull relies on. The import checks the rest. */
function checkEvent(event: Item): Named {
  for (const name of ['type', 'action', 'timestamp']) {
    if (typeof event[name] !== 'string') throw new Refusal(name, 'must be text');
  }
  if (parseDateTime(String(event['timestamp'])) === undefined) {
    throw new Refusal('timestamp', 'must be a date and time with an offset (ISO 8601), from year 1 to 9999');
  }
  const actor = checkPerson(event, 'actor');
  checkPerson(event, 'owner');
  requireId(requireObject(event, 'board'), 'id');
  for (const name of ['organization', 'pin']) {
    if (event[name] !== undefined && event[name] !== null) requireId(requireObject(event, name), 'id');
  }
  return { actor };
}

function checkPerson(event: Item, name: 'actor' | 'owner'): string {
  const person = requireObject(event, name);
  allowTexts(person, ['email', 'name', 'role', 'class_role']);
  return requireId(person, 'id');
}

function requireObject(item: Item, name: string): Item {
  const value = item[name];
  if (!isObject(value)) throw new Refusal(name, 'must be an object');
  return value;
}

/** Returns the id in decimal digits. Throws `Refusal`. */
function requireId(item: Item, name: string): string {
  const value = item[name];
  const isLarge = typeof value === 'bigint' && parseIdentifier(String(value)) !== undefined;
  if (!isLarge && !Number.isSafeInteger(value)) throw new Refusal(name, 'must be an integer of 64 bits');
  return String(value);
}

function allowTexts(item: Item, names: readonly string[]): void {
  for (const name of names) {
    const value = item[name];
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw new Refusal(name, 'must be text');
  }
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In JSON, line ends occur only between tokens, so a space can replace them. */
function onOneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json;
}

/**
 * 63 bits of a digest. Among a million events, two have the same id with a probability of one in
 * twenty million.
 */
function idOf(syncId: string): bigint {
  return createHash('sha256').update(syncId).digest().readBigUInt64BE() >> 1n;
}
