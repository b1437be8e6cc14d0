/**
 * `corkboard organizations remove`, killed before each of its steps: the keys of the organization
 * get what they got before, or are refused, and running the command again finishes it.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { IS_LONG } from '../long.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { killedSteps } from './killed-steps.ts';
import { copyPlace, newPlace, PLACE_KINDS, type Place, responsesOf } from './places.ts';
import { remainsOf } from './remains.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const REMOVE = ['organizations', 'remove', 'zoological', '--yes'];
const KEY = ['keys', 'create', '--organization', 'zoological'];
const UNFINISHED = /"zoological" is being removed\. .*: corkboard organizations remove "zoological"/;
const TEXTS = ['zoological', 'zerlina@x.example', 'Zerlina Z', 'Zeugma', 'zodiac zenith'];
const BUNDLE = {
  'users.csv': 'id,email,name\n1,zerlina@x.example,Zerlina Z\n2,bob@x.example,Bob B\n',
  'boards.csv': 'id,title\n7,Zeugma\n9007199254740993,Far\n',
  'pins.csv': 'id,board_id,owner_id,title,body\n70,7,1,Irony,zodiac zenith\n',
};

async function isListed({ words }: Place): Promise<boolean> {
  const organizations: readonly { name: string }[] = await runJson(['organizations', 'list', ...words]);
  return organizations.some(({ name }) => name === 'zoological');
}

for (const kind of PLACE_KINDS) {
  describe(`organizations remove, killed in a ${kind}`, () => {
    let original: Place;
    let own: string;
    let key: string;
    let other: string;
    let responses: readonly string[];
    let others: readonly string[];
    before(async () => {
      original = await newPlace(kind, folder);
      own = writeSmallBundle(join(folder, 'own'), BUNDLE);
      await runJson(['import', own, '--organization', 'zoological', ...original.words]);
      key = (await runJson([...KEY, ...original.words])).key;
      const small = writeSmallBundle(join(folder, 'other'));
      await runJson(['import', small, '--organization', 'other', ...original.words]);
      other = (await runJson(['keys', 'create', '--organization', 'other', ...original.words])).key;
      responses = await responsesOf(original, [key]);
      others = await responsesOf(original, [other]);
    });

    async function copy(): Promise<Place> {
      const place = await copyPlace(original, folder);
      const pulls = join(place.options.data, '.pull', 'zoological');
      mkdirSync(pulls, { recursive: true });
      writeFileSync(join(pulls, 'progress.json'), 'Zeugma');
      return place;
    }

    it('serves what it served before, or nothing, and is finished by running it again', async () => {
      let served = 0;
      let unfinished = 0;
      for await (const { place, step } of killedSteps(copy, REMOVE)) {
        const seen = await responsesOf(place, [key]);
        if (/^\S+ 200 /.test(seen[0]!)) {
          assert.deepEqual(seen, responses, `step ${step}`);
          served += 1;
        } else for (const one of seen) assert.match(one, /^\S+ 401 .*"code":"key-unknown"/, `step ${step}`);
        assert.deepEqual(await responsesOf(place, [other]), others, `step ${step}`);
        const half = await run(['check', ...place.words]);
        assert.ok(half.code === 0 || /organizations remove/.test(half.stdout), half.stdout + half.stderr);
        if (/^\S+ 401 /.test(seen[0]!) && (await isListed(place))) {
          unfinished += 1;
          assert.match(half.stdout, UNFINISHED, `step ${step}`);
          for (const words of [KEY, ['import', own, '--organization', 'zoological']]) {
            const refused = await run([...words, ...place.words]);
            assert.equal(refused.code, 1, `step ${step}`);
            assert.match(refused.stderr, UNFINISHED);
          }
        }
        const again = await run([...REMOVE, ...place.words]);
        // The last steps end the command.
        if (again.code !== 0) assert.match(again.stderr, /There is no organization "zoological"/);
        assert.deepEqual(await remainsOf(TEXTS, place), [], `step ${step}`);
        const whole = await run(['check', ...place.words]);
        assert.equal(whole.code, 0, `step ${step}: ${whole.stdout}`);
        assert.deepEqual(await responsesOf(place, [other]), others, `step ${step}`);
        assert.ok(existsSync(place.options.data));
      }
      assert.ok(served > 0);
      // Other runs take a few steps only.
      if (IS_LONG) assert.ok(unfinished > 0);
    });
  });
}
