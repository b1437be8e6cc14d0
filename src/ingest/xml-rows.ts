/**
 * Reads XML of one regular form: a root element, and in it a row a line, `<row Id="1" … />`, with all it says in
 * attributes. Any other XML is refused.
 */
import { cutLines, type Line, readBlocks } from './lines.ts';
import { type Reading, refused } from './record-reading.ts';
import { Damage, Refusal } from './refusal.ts';

const DECLARATION = /^<\?xml\s[^<>]*\?>$/;
const ENCODING = /\sencoding=["']([^"']*)["']/i;
const ROOT = /^<([A-Za-z][\w-]*)>$/;
const ATTRIBUTE = /\s+([A-Za-z_][\w.-]*)="([^"<]*)"/y;
const REFERENCE = /&(?:#(\d{1,7})|#x([\dA-Fa-f]{1,6})|(lt|gt|amp|quot|apos));|&/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const ROW = '<row';
const LAST_CODE_POINT = 0x10ffff;

/**
 * The rows in order, many at a time, each as one member that is named like the root: `{ posts: { Id: '1' } }`. Throws
 * `Damage` when there is no root element, or no end of it.
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

  /** With the damage after which nothing can be read. */
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
      return /^utf-?8$/i.test(encoding) ? undefined : `it is written in ${encoding}; save it as UTF-8`;
    }
    this.#root = ROOT.exec(text)?.[1];
    return this.#root === undefined
      ? 'it does not begin with an element like <posts> on a line of its own'
      : undefined;
  }

  #row({ line, text, problem }: Line, root: string): Reading {
    if (problem !== undefined) return refused(line, text, new Refusal('', problem));
    if (this.isClosed) return refused(line, text, new Refusal('', `stands after the end of ${root}`));
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
  if (!row.startsWith(ROW))
    throw new Refusal('', 'is no row, which begins with <row and ends on the same line');
  // What a file names its attributes can be anything, `__proto__` included.
  const attributes: Record<string, string> = Object.create(null);
  let place = ROW.length;
  for (;;) {
    ATTRIBUTE.lastIndex = place;
    const [whole, name, value] = ATTRIBUTE.exec(row) ?? [];
    if (whole === undefined || name === undefined || value === undefined) break;
    if (name in attributes) throw new Refusal(name, 'is given twice');
    attributes[name] = readReferences(value, name);
    place += whole.length;
  }
  if (row.slice(place).trimStart() === '/>') return attributes;
  throw new Refusal('', `cannot be read as attributes from its character ${place + 1} on`);
}

/** The text with its references replaced. Throws `Refusal` for any but the five entities of XML and characters. */
function readReferences(text: string, name: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (reference, decimal?: string, hex?: string, entity?: string) => {
    if (entity !== undefined) return ENTITIES[entity] ?? '';
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    if (code > 0 && code <= LAST_CODE_POINT && !isSurrogate) return String.fromCodePoint(code);
    throw new Refusal(name, `holds ${reference}, which stands for no character`);
  });
}
