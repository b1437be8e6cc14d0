/**
 * Batches of lines from a stream: no line is lost, cut or counted twice, however the bytes arrive.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { firstLines, LineBatcher } from '../../../src/ingest/follow/line-batcher.ts';
import { LONGEST_RECORD_BYTES } from '../../../src/ingest/input/lines.ts';

it('the bytes leave as they arrived, in whole lines, and are counted', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\n') });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.boolean())), (pieces) => {
      const gathered = new LineBatcher();
      const taken = { text: '', lines: 0, bytesRead: 0 };
      const take = () => {
        const { bytes, lines, bytesRead } = gathered.take();
        assert.ok(bytes.length === 0 || gathered.isEmpty);
        taken.text += bytes.toString();
        taken.lines += lines;
        taken.bytesRead += bytesRead;
      };
      let whole = '';
      for (const [piece, takesNow] of pieces) {
        gathered.add(Buffer.from(piece));
        whole += piece;
        if (!takesNow) continue;
        take();
        assert.equal(taken.text, whole.slice(0, whole.lastIndexOf('\n') + 1));
        assert.equal(taken.lines, whole.split('\n').length - 1);
      }
      gathered.end();
      take();
      assert.equal(taken.text, whole);
      assert.equal(taken.bytesRead, Buffer.byteLength(whole));
      assert.equal(taken.lines, whole.split('\n').length - (whole === '' || whole.endsWith('\n') ? 1 : 0));
    }),
  );
});

it('firstLines returns the requested number of whole lines', () => {
  const gathered = new LineBatcher();
  gathered.add(Buffer.from('one\n\nthree\nfo'));
  const lines = gathered.take();
  for (const [count, text] of [
    [0, ''],
    [1, 'one\n'],
    [2, 'one\n\n'],
    [3, 'one\n\nthree\n'],
  ] as const) {
    const first = firstLines(lines, count);
    assert.deepEqual([first.bytes.toString(), first.lines, first.bytesRead], [text, count, text.length]);
  }
});

it('a line that never ends takes no more memory than the longest record, and is counted as a whole', () => {
  const gathered = new LineBatcher();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  for (let megabyte = 0; megabyte < 40; megabyte += 1) gathered.add(piece);
  assert.ok(gathered.isEmpty);
  gathered.add(Buffer.from('end\nnext\n'));
  const { bytes, lines, bytesRead } = gathered.take();
  assert.deepEqual([lines, bytesRead], [2, 40 * piece.length + 9]);
  assert.ok(bytes.length > LONGEST_RECORD_BYTES && bytes.length < LONGEST_RECORD_BYTES + 2 * piece.length);
  assert.equal(bytes.subarray(-6).toString(), '\nnext\n');
});
