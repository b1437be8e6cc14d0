/**
 * Reads XML of one regular form: a root element with one row per line, `<row Id="1" … />`, which
 * has only attributes. Any other XML is refused. The XML library receives single rows only, so
 * document types and entity declarations cannot occur. References can name any character, also
 * those that XML does not permit, such as controls: the software that writes dumps does not check.
 */
import { parseXml, XmlError } from '@rgrove/parse-xml';
import { shortened } from '../../domain/shortened-text.ts';
import { Damage, Refusal } from '../fields/refusal.ts';
import { cutLines, type Line, readBlocks } from '../input/lines.ts';
import { type Reading, refused } from './record-reading.ts';

const DECLARATION = /^<\?xml\s[^<>]*\?>$/;
const ENCODING = /\sencoding=["']([^"']*)["']/i;
const DOCUMENT_TYPE = /^<!DOCTYPE\b/i;
const ROOT = /^<([A-Za-z][\w-]*)>$/;
const ROW = 'row';

/**
 * The rows in order, many at a time, each as an object with one member named after the root
 * element: `{ posts: { Id: '1' } }`. Throws `Damage` when there is no root element, or no end of
 * it.
 */
export async function* readRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly Reading[]> {
  const document = new RowDocument();
  let line = 1;
  for await (const block of readBlocks(bytes)) {
    const lines = cutLines(block, line);
    line += lines.length;
    const { readings, damage } = document.read(lines);
    yield readings;
    if (damage !== undefined) throw new Damage(damage);
  }
  if (!document.isClosed) throw new Damage('its root element is not closed; the file may be cut short');
}

class RowDocument {
  isClosed = false;
  #root: string | undefined;

  /** Reads further lines. Nothing can be read after `damage`. */
  read(lines: readonly Line[]): { readonly readings: readonly Reading[]; readonly damage?: string } {
    const readings: Reading[] = [];
    for (const one of lines) {
      const text = one.text.trim();
      if (text === '' && one.problem === undefined) continue;
      if (this.#root === undefined) {
        const damage = this.#open(one.problem ?? text);
        if (damage !== undefined) return { readings, damage };
      } else if (text === `</${this.#root}>` && !this.isClosed) this.isClosed = true;
      else readings.push(this.#row(one, this.#root));
    }
    return { readings };
  }

  #open(text: string): string | undefined {
    if (DECLARATION.test(text)) {
      const encoding = ENCODING.exec(text)?.[1] ?? 'utf-8';
      return /^utf-?8$/i.test(encoding)
        ? undefined
        : `it is written in ${shortened(encoding)}; save it as UTF-8`;
    }
    if (DOCUMENT_TYPE.test(text)) {
      return 'it has a document type (<!DOCTYPE …>), which may declare entities and is not read; delete it';
    }
    this.#root = ROOT.exec(text)?.[1];
    return this.#root === undefined
      ? 'it does not begin with an element like <posts> on a line of its own'
      : undefined;
  }

  #row({ line, text, problem }: Line, root: string): Reading {
    if (problem !== undefined) return refused(line, text, new Refusal('', problem));
    if (this.isClosed)
      return refused(line, text, new Refusal('', `comes after the end of ${shortened(root)}`));
    return {
      line,
      length: text.length,
      raw: text,
      read: () => ({ value: { [root]: readAttributes(text.trim()) }, isCells: false }),
    };
  }
}

/** Throws `Refusal`. */
function readAttributes(row: string): Readonly<Record<string, string>> {
  if (!row.startsWith(`<${ROW}`))
    throw new Refusal('', 'is not a row; a row begins with <row and ends on the same line');
  const { name, attributes, children } = parseRow(row);
  if (name !== ROW || children.length > 0) {
    throw new Refusal('', 'is not a row; a row has only attributes: <row Id="1" … />');
  }
  // The object has no prototype, because attributes can have any name.
  return attributes;
}

/** The start of a reference, and of the same length that of one which `characterOf` resolves. */
const [REFERENCE, RESOLVED] = ['&#', '&_'];
const CODE = /^&_(?:x([\da-f]+)|(\d+));$/i;
const LARGEST_CODE = 0x10ffff;

/**
 * The character of a reference, which can be half of a surrogate pair: the other half follows.
 * Undefined for the name of an entity. Throws `Refusal` when there is no such character.
 */
function characterOf(reference: string): string | undefined {
  if (!reference.startsWith(RESOLVED)) return undefined;
  const [, hexadecimal, decimal = ''] = CODE.exec(reference) ?? [];
  const code = hexadecimal === undefined ? Number.parseInt(decimal, 10) : Number.parseInt(hexadecimal, 16);
  if (code <= LARGEST_CODE) return String.fromCodePoint(code);
  throw new Refusal('', `refers to no character: ${shortened(reference.replace(RESOLVED, REFERENCE))}`);
}

function parseRow(row: string) {
  try {
    // Of the same length, so that reasons name the right character of the row.
    const { root } = row.includes(RESOLVED)
      ? parseXml(row)
      : parseXml(row.replaceAll(REFERENCE, RESOLVED), { resolveUndefinedEntity: characterOf });
    if (root !== null) return root;
  } catch (error) {
    if (error instanceof XmlError) {
      const [reason = ''] = error.message.split(' (line ');
      throw new Refusal('', `is not valid XML at character ${error.column}: ${reason}`);
    }
    // Elements nested too deeply for the stack of the library.
    if (!(error instanceof RangeError)) throw error;
  }
  throw new Refusal('', 'is not valid XML');
}
