import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeKey } from '../../src/keys/key-format.ts';
import { run, temporaryFolder } from './command.ts';

const data = temporaryFolder();
const { key } = makeKey();

const MISUSE: readonly [args: string[], message: RegExp][] = [
  [[], /^Usage: corkboard/],
  [['keys'], /^Usage: corkboard keys/],
  [['kesy'], /^corkboard: unknown command 'kesy'\n\(Did you mean keys\?\)/],
  [['keys', 'lits'], /^corkboard: unknown command 'lits'\n\(Did you mean list\?\)/],
  [['keys', 'list', '--jsno'], /^corkboard: unknown option '--jsno'\n\(Did you mean --json\?\)/],
  [['keys', 'create'], /^corkboard: There is no organization yet\. /],
  [
    ['keys', 'rotate', 'abcdefghijkl', '--overlap', '7'],
    /^corkboard: option '--overlap .* is invalid\. A duration/,
  ],
  [['keys', 'revoke'], /^corkboard: missing required argument 'id'/],
  [['keys', 'revoke', 'a', 'b'], /^corkboard: too many arguments/],
  [['serve', '--variant', 'c'], /^corkboard: option '--variant .* Allowed choices are a, b/],
  [['serve', '--port', 'http'], /^corkboard: option '-p, --port .* A port is a number/],
  [['serve', '--workers', '0'], /^corkboard: option '--workers .* The number of workers is 1 to/],
  [['serve', '--workers', 'x'], /^corkboard: option '--workers .* The number of workers is 1 to/],
  [
    ['serve', '--resident-limit', '2'],
    /^corkboard: option '--resident-limit .* A size is a number with a unit/,
  ],
  [
    ['import', 'x.csv', '--organization', 'x', '--as', 'things'],
    /^corkboard: option '--as .* Allowed choices are users/,
  ],
  [['organizations', 'configure', 'school'], /^corkboard: There is nothing to change/],
];

describe('misuse', () => {
  for (const [args, message] of MISUSE) {
    it(`ends "corkboard ${args.join(' ')}" with exit code 2 and names the mistake`, async () => {
      const { code, stdout, stderr } = await run([...args, '--data', data]);
      assert.match(stderr, message);
      assert.equal(stdout, '');
      assert.equal(code, 2);
    });
  }

  it('never prints the given key', async () => {
    for (const args of [
      [key],
      ['keys', 'revoke', 'a', key],
      ['keys', 'list', `--${key}`],
      ['serve', '--port', key],
    ]) {
      const { code, stdout, stderr } = await run([...args, '--data', data]);
      assert.equal(code, 2);
      assert.ok(!`${stdout}${stderr}`.includes(key.slice(18, 30)), stderr);
    }
  });
});
