import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';

const ALLOCATIONS = join(import.meta.dirname, '../src/system/allocations.ts');

it('V8 knows the option that makes it allocate all objects among the young ones', () => {
  const script = `
    import { allocateYoung } from ${JSON.stringify(ALLOCATIONS)};
    allocateYoung();`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script]);
  // V8 reports an unknown option and goes on.
  assert.deepEqual([status, `${stdout}${stderr}`], [0, '']);
});
