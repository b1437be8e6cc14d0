/**
 * CSV for spreadsheets: no cell begins like a formula, with any separator that a spreadsheet uses.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TextColumn } from '../../src/dataset/text-column.ts';
import { type Notation, renderFields } from '../../src/render/text/notation.ts';

const text = (cell: string, notation: Notation = 'excel') =>
  renderFields(notation, ['cell'], { cell: TextColumn.of([cell]) }, 0);

describe('a cell of CSV for spreadsheets', () => {
  for (const [plain, defused] of [
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-5', "'-5"],
    ['@SUM(1)', "'@SUM(1)"],
    ['  =1', "'  =1"],
    ['\t=1', "'\t'=1"],
    ['\rx', `"'\rx"`],
    ['\u{ff1d}1', "'\u{ff1d}1"],
    ['a;=1', "a;'=1"],
    ['a,@1', `"a,'@1"`],
    ['a"=1', `"a""'=1"`],
    ['a\n- b', `"a\n'- b"`],
    ['a; b', 'a; b'],
    ['a - b = c', 'a - b = c'],
    ["'=1", "'=1"],
    ['', ''],
  ] as const) {
    it(`holds ${JSON.stringify(plain)} as ${JSON.stringify(defused)}`, () =>
      assert.equal(text(plain), defused));
  }

  it('contains numbers unchanged, including negative ones', () => {
    assert.equal(renderFields('excel', ['id'], { id: BigInt64Array.of(-5n) }, 0), '-5');
  });

  it('contains lists as JSON in which no text is a formula', () => {
    const tags = TextColumn.of(['["=1","b"]'], true);
    assert.equal(renderFields('excel', ['tags'], { tags }, 0), `"[""'=1"",""b""]"`);
  });

  it('differs from a cell of plain CSV by apostrophes only, and begins no formula at any separator', () => {
    const character = fc.constantFrom(...'=+-@,;\t\r\n" \'a1\u{ff0b}');
    fc.assert(
      fc.property(fc.string({ unit: character }), (cell) => {
        const defused = text(cell);
        for (const piece of defused.split(/[,;\t\r\n"]/)) assert.doesNotMatch(piece, /^ *[=+\-@\u{ff0b}]/u);
        assert.equal(withoutApostrophes(defused), withoutApostrophes(text(cell, 'csv')));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is rendered in linear time', () => {
    const slow = ';'.repeat(500_000) + ' '.repeat(500_000);
    assert.equal(text(slow), `"${slow}"`);
  });
});

/** Without the quotes around the cell, which can depend on its first character. */
function withoutApostrophes(cell: string): string {
  return cell.replaceAll("'", '').replace(/^"|"$/g, '');
}
