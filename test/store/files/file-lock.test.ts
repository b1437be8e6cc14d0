/** Locks of files that are deleted, with their folders, while others wait for them. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { LockFileGone, lockFile } from '../../../src/store/files/file-lock.ts';

it('the lock of a file that was deleted is not given to those who wait for it', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'corkboard-file-lock-'));
  t.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'school');
  const path = join(folder, 'publication.lock');
  mkdirSync(folder);
  const release = await lockFile(path, { waitMs: 0 });
  await assert.rejects(lockFile(path, { waitMs: 0 }), { code: 'organization-busy' });
  const waiting = lockFile(path, { waitMs: 10_000 });
  await delay(50);
  rmSync(folder, { recursive: true });
  release();
  await assert.rejects(waiting, LockFileGone);
  // A new file is locked by one process at a time, however many waited for the deleted one.
  mkdirSync(folder);
  const first = await lockFile(path, { waitMs: 0 });
  const second = lockFile(path, { waitMs: 10_000 });
  await delay(50);
  rmSync(path);
  const third = await lockFile(path, { waitMs: 0 });
  first();
  await delay(300);
  third();
  (await second)();
});
