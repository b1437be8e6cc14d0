import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { countEvents, type Format } from '../../console/src/export/event-counter.ts';

const FORMS: Readonly<Record<Exclude<Format, 'parquet'>, (events: readonly string[]) => string>> = {
  json: (events) => JSON.stringify(events.map((text) => ({ text, inner: { text } }))),
  ndjson: (events) => events.map((text) => `${JSON.stringify({ text })}\n`).join(''),
  csv: (events) => ['a,b', ...events.map((text) => `1,"${text.replaceAll('"', '""')}"`), ''].join('\r\n'),
};

describe('exported events', () => {
  for (const format of ['json', 'ndjson', 'csv'] as const) {
    it(`are counted exactly in ${format}, however the bytes are cut`, () => {
      const text = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\\"', '}', '\n', '{"', ',\r\n'));
      const property = fc.property(fc.array(text), fc.integer({ min: 1, max: 9 }), (events, size) => {
        const bytes = Buffer.from(FORMS[format](events));
        const counter = countEvents(format);
        let count: number | undefined = 0;
        for (let at = 0; at < bytes.length; at += size) count = counter.add(bytes.subarray(at, at + size));
        assert.equal(count, events.length);
      });
      fc.assert(property);
    });
  }

  it('are not counted in parquet', () => {
    assert.equal(countEvents('parquet').add(Buffer.from('PAR1')), undefined);
  });
});
