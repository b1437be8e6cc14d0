import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AppError, type ErrorCode } from '../../../src/domain/app-error.ts';
import { PARAMETERS, type ParameterName } from '../../../src/server/request/parameters.ts';
import { readParameters } from '../../../src/server/request/query.ts';

const ALL: readonly ParameterName[] = ['start', 'end', 'limit', 'cursor', 'format', 'key'];

function refusal(query: string, known = ALL): AppError {
  try {
    readParameters(query, known);
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error;
  }
  throw new Error(`"${query}" was not refused`);
}

describe('query parameters', () => {
  it('are parsed to their values', () => {
    assert.deepEqual(readParameters('', ALL), {});
    assert.deepEqual(readParameters('&&', ALL), {});
    assert.deepEqual(readParameters('start=1514764800&end=1514764800000&limit=10000', ALL), {
      start: 1_514_764_800_000,
      end: 1_514_764_800_000,
      limit: 10_000,
    });
    assert.deepEqual(readParameters('start=1520874045.567&end=1520874045567.9', ALL), {
      start: 1_520_874_045_567,
      end: 1_520_874_045_567,
    });
    assert.deepEqual(readParameters('start=2018-03-12T17:00:45.567%2B01:00&key=board', ALL), {
      start: Date.UTC(2018, 2, 12, 16, 0, 45, 567),
      key: 'board',
    });
    assert.deepEqual(readParameters('limit=1&cursor=abc&format=csv', ALL), {
      limit: 1,
      cursor: 'abc',
      format: 'csv',
    });
  });

  it('that are no instants are refused with the one that is probably meant', () => {
    const meant = (text: string) =>
      /%2B, such as (\S+)\.$/.exec(refusal(`start=${text}`).message)?.[1] ?? assert.fail(text);
    assert.deepEqual(
      ['2018-03-12', '2018-03-12T17:00:45', '2018-03-12T17:00:45+01:00', '12.03.2018'].map(meant),
      ['2018-03-12T00:00:00Z', '2018-03-12T17:00:45Z', '2018-03-12T17:00:45%2B01:00', '2018-03-01T00:00:00Z'],
    );
  });

  const REFUSED: readonly (readonly [query: string, code: ErrorCode])[] = [
    ['strat=1', 'parameter-unknown'],
    ['Start=1', 'parameter-unknown'],
    ['=1', 'parameter-unknown'],
    ['constructor=1', 'parameter-unknown'],
    ['__proto__=1', 'parameter-unknown'],
    ['start[]=1', 'parameter-unknown'],
    [`${'x'.repeat(7_000)}=1`, 'parameter-unknown'],
    ['start=1&start=1', 'parameter-repeated'],
    ['limit=1&limit=2', 'parameter-repeated'],
    ['start=', 'parameter-malformed'],
    ['start', 'parameter-malformed'],
    ['start=yesterday', 'parameter-malformed'],
    ['start=1e12', 'parameter-malformed'],
    ['start=1.', 'parameter-malformed'],
    ['start=.5', 'parameter-malformed'],
    ['start=1,5', 'parameter-malformed'],
    ['start=1.5e3', 'parameter-malformed'],
    ['start=+1', 'parameter-malformed'],
    ['start=0x10', 'parameter-malformed'],
    ['start=99999999999999999999', 'parameter-malformed'],
    ['start=2018-02-30T00:00:00Z', 'parameter-malformed'],
    ['start=2018-03-12T17:00:45', 'parameter-malformed'],
    ['start=2018-03-12T17:00:45+00:00', 'parameter-malformed'],
    ['end=-', 'parameter-malformed'],
    ['limit=0', 'parameter-malformed'],
    ['limit=-1', 'parameter-malformed'],
    ['limit=10001', 'parameter-malformed'],
    ['limit=1.0', 'parameter-malformed'],
    ['limit=%201', 'parameter-malformed'],
    ['limit=', 'parameter-malformed'],
    ['cursor=&limit=1', 'parameter-malformed'],
    ['cursor=%00&limit=1', 'parameter-malformed'],
    ['cursor=abc', 'parameter-malformed'],
    ['format=xml', 'parameter-malformed'],
    ['format=JSON', 'parameter-malformed'],
    ['key=user', 'parameter-malformed'],
    ['start=2000&end=1000', 'range-reversed'],
  ];
  for (const [query, code] of REFUSED) {
    it(`${query.slice(0, 60)} is ${code}`, () => {
      assert.equal(refusal(query).code, code);
      assert.ok(refusal(query).message.length < 600);
    });
  }

  it('that are unknown are refused with the nearest known name', () => {
    assert.match(refusal('strat=1').message, /"strat" is unknown here\. Did you mean "start"\?/);
    assert.match(refusal('END=1').message, /Did you mean "end"\?/);
    assert.match(refusal('board=7').message, /Known are: start, end/);
  });

  it('reserve "version" for pinning a version of the data', () => {
    const { code, message } = refusal('start=1&version=abc');
    assert.equal(code, 'parameter-unknown');
    assert.match(message, /^The parameter "version" is reserved for pinning a version of the data/);
    assert.match(refusal('Version=1').message, /"Version" is unknown here/);
  });

  it('of a different route are unknown', () => {
    assert.equal(refusal('limit=1', ['start', 'end']).code, 'parameter-unknown');
  });

  it('are read or refused with every text, without any other error', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ALL), fc.string({ unit: 'binary' }), (name, text) => {
        assert.doesNotThrow(() => PARAMETERS[name].read(text));
      }),
    );
  });
});
