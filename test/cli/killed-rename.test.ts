/**
 * `corkboard organizations rename`, killed before each of its steps: the organization has either
 * name, responses are the same, and running the command again finishes it.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import { killedSteps } from './killed-steps.ts';
import { copyPlace, newPlace, PLACE_KINDS, type Place, responsesOf } from './places.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const RENAME = ['organizations', 'rename', 'school', 'college'];

async function nameIn({ words }: Place): Promise<string> {
  const list: { name: string }[] = await runJson(['organizations', 'list', ...words]);
  const [name = '', ...others] = list.map((one) => one.name).filter((one) => one !== 'other');
  assert.deepEqual(others, []);
  return name;
}

for (const kind of PLACE_KINDS) {
  describe(`organizations rename, killed in a ${kind}`, () => {
    let original: Place;
    let keys: readonly string[];
    let responses: readonly string[];
    before(async () => {
      original = await newPlace(kind, folder);
      const made: string[] = [];
      for (const name of ['school', 'other']) {
        const bundle = writeSmallBundle(join(folder, 'bundle'));
        await runJson(['import', bundle, '--organization', name, ...original.words]);
        made.push((await runJson(['keys', 'create', '--organization', name, ...original.words])).key);
      }
      keys = made;
      responses = await responsesOf(original, keys);
    });

    it('leaves either name, with the same responses, and is finished by running it again', async () => {
      const found = new Set<string>();
      const copy = () => copyPlace(original, folder);
      for await (const { place, step } of killedSteps(copy, RENAME)) {
        const name = await nameIn(place);
        found.add(name);
        assert.deepEqual(await responsesOf(place, keys), responses, `step ${step}`);
        assert.equal((await run(['organizations', 'show', name, ...place.words])).code, 0);
        const other = name === 'school' ? 'college' : 'school';
        const taken = await run(['organizations', 'create', other, ...place.words]);
        const { stdout } = await run(['check', ...place.words]);
        if (taken.code === 0) await run(['organizations', 'remove', other, '--yes', ...place.words]);
        else {
          assert.match(stdout, new RegExp(`left over: a renaming of "${name}" was interrupted`));
          const backup = join(folder, `backup-${kind}-${step}`);
          await runJson(['backup', backup, ...place.words]);
          const { organizations } = await runJson([
            ...['restore', backup, '--replace', '--organization', other],
            ...place.words,
          ]);
          assert.deepEqual(
            organizations.map(({ organization }: { organization: string }) => organization),
            [name],
            'both names are names of the organization',
          );
        }
        const again = await run([...RENAME, ...place.words]);
        // The last steps end the command.
        if (again.code !== 0) assert.deepEqual([name, again.code], ['college', 1], again.stderr);
        assert.equal(await nameIn(place), 'college', `step ${step}`);
        assert.deepEqual(await responsesOf(place, keys), responses, `step ${step}`);
        const check = await run(['check', ...place.words]);
        assert.equal(check.code, 0, `step ${step}: ${check.stdout}`);
        if (kind === 'folder') {
          assert.deepEqual(readdirSync(join(place.options.data, 'organizations')), ['college', 'other']);
        }
      }
      assert.deepEqual([...found].sort(), ['college', 'school']);
    });
  });
}
