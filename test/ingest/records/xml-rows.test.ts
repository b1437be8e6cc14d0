/** The rows of XML dumps: their attributes, and the refused ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Damage, Refusal } from '../../../src/ingest/fields/refusal.ts';
import { readRows } from '../../../src/ingest/records/xml-rows.ts';
import { runs } from '../../model/runs.ts';

const HEAD = '<?xml version="1.0" encoding="utf-8"?>\r\n<posts>\r\n';

/**
 * The attributes of each row, or the reason to refuse it; the text arrives in chunks of `size`
 * bytes.
 */
async function read(text: string | Buffer, size = 7) {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const rows: { line: number; row: unknown }[] = [];
  for await (const readings of readRows(pieces())) {
    for (const { line, read: readOne } of readings) {
      try {
        rows.push({ line, row: readOne().value });
      } catch (error) {
        assert.ok(error instanceof Refusal);
        rows.push({ line, row: `${error.field}: ${error.reason}` });
      }
    }
  }
  return rows;
}

describe('rows of XML', () => {
  it('have their line, their file and all attributes', async () => {
    const rows = await read(`\ufeff${HEAD}  <row Id="1" Title="a &amp; b" />\r\n<row/>\n</posts>\r\n`);
    assert.deepEqual(JSON.parse(JSON.stringify(rows)), [
      { line: 3, row: { posts: { Id: '1', Title: 'a & b' } } },
      { line: 4, row: { posts: {} } },
    ]);
  });

  it('may have attributes in single quotes, and any name', async () => {
    const [one] = await read(`${HEAD}<row A='"' __proto__="1" />\n</posts>`);
    assert.deepEqual(
      JSON.parse(JSON.stringify(one?.row)),
      JSON.parse('{"posts":{"A":"\\"","__proto__":"1"}}'),
    );
  });

  it('have the five entities and character references replaced, once', async () => {
    const [one] = await read(
      `${HEAD}<row A="&lt;&gt;&amp;lt;&quot;&apos;&#xA;&#x1F600;&#233;é" />\n</posts>`,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(one?.row)), { posts: { A: `<>&lt;"'\n😀éé` } });
  });

  it('may refer to any character, one code unit at a time', async () => {
    const reference = (code: number, isHexadecimal: boolean) =>
      isHexadecimal ? `&#x${code.toString(16)};` : `&#${code};`;
    const unit = fc.oneof(
      fc.integer({ max: 0x9f, min: 0 }),
      fc.integer({ max: 0xdfff, min: 0xd800 }),
      fc.nat(0xffff),
    );
    const references = fc.array(fc.tuple(unit, fc.boolean()), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(references, async (units) => {
        const written = units.map(([code, isHexadecimal]) => reference(code, isHexadecimal)).join('');
        const [one] = await read(`${HEAD}<row A="a${written}" />\n</posts>`, 500);
        const text = `a${String.fromCharCode(...units.map(([code]) => code))}`;
        assert.deepEqual(JSON.parse(JSON.stringify(one?.row)), { posts: { A: text } });
      }),
      runs(100),
    );
  });

  const at = (character: number, reason: string) => `: is not valid XML at character ${character}: ${reason}`;
  const noAttributes = ': is not a row; a row has only attributes: <row Id="1" … />';
  for (const [what, row, reason] of [
    ['an unknown entity', '<row A="&nbsp;" />', at(9, "Named entity isn't defined: &nbsp;")],
    ['a reference beyond Unicode', '<row A="&#x110000;" />', ': refers to no character: &#x110000;'],
    ['a reference without a number', '<row A="&#;" />', ': refers to no character: &#;'],
    ['a reference that is no number', '<row A="&#xG;" />', ': refers to no character: &#xG;'],
    ['another reference', '<row A="&_x41;" />', at(9, "Named entity isn't defined: &_x41;")],
    ['a control character', '<row A="\u000e" />', at(9, 'Invalid character')],
    [
      'an unknown entity after a reference',
      '<row A="&#14;&nbsp;" />',
      at(14, "Named entity isn't defined: &nbsp;"),
    ],
    [
      'a bare ampersand',
      '<row A="a & b" />',
      at(13, 'Unterminated reference (a reference must end with `;`)'),
    ],
    ['an attribute twice', '<row A="1" A="2" />', at(17, 'Duplicate attribute: A')],
    ['a prototype twice', '<row __proto__="1" __proto__="2" />', at(33, 'Duplicate attribute: __proto__')],
    ['a row with content', '<row A="1">text</row>', noAttributes],
    ['a row of several lines', '<row A="1"', at(11, 'Unclosed start tag for element `row`')],
    ['two rows in a line', '<row A="1" /><row A="2" />', at(14, 'Extra content at the end of the document')],
    ['a name that only begins so', '<rowing A="1" />', noAttributes],
    ['elements without end', `<row>${'<a>'.repeat(200_000)}`, ': is not valid XML'],
    ['a comment', '<!-- x -->', ': is not a row; a row begins with <row and ends on the same line'],
    [
      'an entity of its own',
      '<!DOCTYPE x [<!ENTITY a "b">]>',
      ': is not a row; a row begins with <row and ends on the same line',
    ],
  ] as const) {
    it(`refuse ${what}, and the next one is read`, async () => {
      const rows = await read(`${HEAD}${row}\n<row Id="2" />\n</posts>`);
      assert.equal(rows[0]?.row, reason);
      assert.deepEqual(JSON.parse(JSON.stringify(rows[1]?.row)), { posts: { Id: '2' } });
    });
  }

  it('are refused if they are not UTF-8, and so is text after the end', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${HEAD}<row A="`),
      Buffer.from([0xe9]),
      Buffer.from('" />\n</posts>\n<row/>'),
    ]);
    assert.deepEqual(
      (await read(bytes)).map(({ row }) => row),
      [': is not UTF-8; save the file as UTF-8', ': comes after the end of posts'],
    );
  });

  for (const [what, text, message] of [
    ['cut short', `${HEAD}<row Id="1" />\n`, /root element is not closed/],
    ['of another form', '<posts><row Id="1" /></posts>', /does not begin with an element/],
    [
      'with a document type',
      '<?xml version="1.0"?>\n<!DOCTYPE posts [\n<!ENTITY a "b">\n]>\n<posts>\n</posts>',
      /^it has a document type \(<!DOCTYPE …>\), .*; delete it$/,
    ],
    [
      'in another encoding',
      '<?xml version="1.0" encoding="utf-16"?>\n<posts>\n</posts>',
      /written in utf-16/,
    ],
    ['empty', '', /the file is empty/],
  ] as const) {
    it(`end where the file is ${what}`, async () => {
      await assert.rejects(read(text), (error) => error instanceof Damage && message.test(error.message));
    });
  }
});
