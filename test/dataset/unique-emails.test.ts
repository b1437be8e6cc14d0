/** Which e-mail addresses count as equal (decision 9). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_STORAGE, openStorage, type Storage } from '../storage.ts';
import { publishRecords } from './small-world.ts';

describe('e-mail addresses', () => {
  let folder: string;
  let storage: Storage;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-emails-'));
    storage = await openStorage(DEFAULT_STORAGE, folder);
  });
  after(async () => {
    await storage.close();
    await rm(folder, { recursive: true });
  });

  it('are equal when only the case of A to Z differs, and not when that of other letters does', async () => {
    await storage.store.createOrganization('school', {});
    const emails = ['i@b', 'İ@b', '\u212a@b', 'k@b', 'müller@B', 'MÜLLER@b', 'Müller@b'];
    const users = emails.map((email, at) => ({ id: BigInt(50 + at), email, name: email }));
    const { problems, published } = await publishRecords(storage.store, 'school', { users });
    assert.ok(published);
    assert.deepEqual(
      problems.map(({ line, reason }) => [line, reason]),
      [[7, '"Müller@b" belongs to two users, 54 and 56; it must be unique']],
    );
  });
});
