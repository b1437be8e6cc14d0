/** `catalog.db` of earlier versions of Corkboard. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { openSqliteCatalog } from '../../src/store/catalog/sqlite-catalog.ts';
import { addSeals, defineSeals, sealSchema } from '../../src/system/row-seal.ts';

/** The columns that version 0.2 sealed, in their order. */
const COLUMNS =
  'name id title domain category_id course_lookup lms_user_properties policy user_points_key secret derived_ids generation version';

it('a catalog with the first seals gets the longest life of keys, and damaged rows stay damaged', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-catalog-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = new DatabaseSync(join(folder, 'catalog.db'));
  file.exec(`
    CREATE TABLE organizations (
      name TEXT PRIMARY KEY COLLATE NOCASE, id INTEGER NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
      category_id INTEGER NOT NULL, course_lookup INTEGER NOT NULL, lms_user_properties TEXT NOT NULL,
      policy TEXT NOT NULL, secret BLOB NOT NULL, generation INTEGER, version TEXT,
      derived_ids TEXT NOT NULL DEFAULT 'plain', user_points_key TEXT NOT NULL DEFAULT 'user-id'
    ) STRICT;
    INSERT INTO organizations VALUES
      ('school', 1, 'School', '', 0, 0, '[]', '', x'00', NULL, NULL, 'keyed', 'user-id'),
      ('club', 2, 'Club', '', 0, 0, '[]', '', x'01', NULL, NULL, 'keyed', 'user-id');`);
  const table = { file: 'catalog.db', name: 'organizations', key: 'name', columns: COLUMNS.split(' ') };
  const sealed = { ...table, describe: String };
  defineSeals(file, sealed);
  file.exec(`${addSeals(sealed)}; UPDATE organizations SET seal = x'00' WHERE name = 'club';`);
  sealSchema(file);
  file.close();
  const catalog = openSqliteCatalog(folder);
  t.after(() => catalog.close());
  assert.equal((await catalog.entry('school')).rules.longestKeyLifeMs, undefined);
  await catalog.changeRules('SCHOOL', { longestKeyLifeMs: 86_400_000 });
  assert.equal((await catalog.entry('school')).rules.longestKeyLifeMs, 86_400_000);
  await assert.rejects(catalog.entry('club'), { code: 'data-unreadable' });
  const damage = await catalog.findDamage();
  assert.equal(damage.length, 1);
  assert.match(damage[0] ?? '', /The entry of club in catalog\.db is damaged/);
});
