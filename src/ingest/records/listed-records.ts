/** Records that other software lists in one document, such as a page of statements. */
import { partsOf } from '../fields/json-shape.ts';
import { type Reading, readJson } from './record-reading.ts';

/**
 * The records in the list `member` of a document, each with its own place and text, followed by the
 * other members as a document that does not count as a record. Undefined for any other record.
 */
export function listedIn({ line, raw, length }: Reading, member: string): readonly Reading[] | undefined {
  if (length === undefined || !raw.includes(`"${member}"`)) return undefined;
  const members = partsOf(raw) ?? [];
  const list = members.find(({ name, text }) => name === member && text.startsWith('['));
  const elements = list && partsOf(list.text);
  if (list === undefined || elements === undefined) return undefined;
  let at = raw.indexOf(list.text);
  let lineAt = line + lineEndsIn(raw.slice(0, at));
  const lines = elements.map(({ text }) => {
    // Between two elements there is nothing but a comma and white space.
    const found = raw.indexOf(text, at);
    lineAt += lineEndsIn(raw.slice(at, found));
    at = found;
    return { line: lineAt, text };
  });
  const records = lines.map((own, at) => {
    const isShared = [lines[at - 1], lines[at + 1]].some((other) => other?.line === own.line);
    return readJson(isShared ? { ...own, index: at + 1 } : own);
  });
  const others = members.filter((one) => one !== list).map(({ name, text }) => `"${name}":${text}`);
  const rest = { ...readJson({ line, text: `{${others.join(',')}}` }), length: undefined };
  return others.length > 0 ? [...records, rest] : records;
}

function lineEndsIn(text: string): number {
  return text.split('\n').length - 1;
}
