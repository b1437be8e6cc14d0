/** What counts as free memory in a control group. */
import assert from 'node:assert/strict';
import { freemem } from 'node:os';
import { availableMemory } from 'node:process';
import { describe, it } from 'node:test';
import { fileCacheBytes, freeMemory, machineMemory } from '../src/system/machine-memory.ts';

const STAT_1 = 'cache 9\ninactive_file 1\nactive_file 2\ntotal_inactive_file 400\ntotal_active_file 30\n';
const STAT_2 = 'anon 7\nfile 999\ninactive_file 500\nactive_file 60\nworkingset_refault_file 8\n';

function cacheIn(files: Readonly<Record<string, string>>): number {
  return fileCacheBytes((path) => {
    const text = files[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  });
}

describe('the files of a control group in the cache', () => {
  it('are those of the group of this process, in version 1 and 2', () => {
    assert.equal(
      cacheIn({
        '/proc/self/cgroup': '5:cpu:/other\n4:hugetlb,memory:/corkboard\n0::/\n',
        '/sys/fs/cgroup/memory/corkboard/memory.stat': STAT_1,
        '/sys/fs/cgroup/memory.stat': STAT_2,
      }),
      430,
    );
    assert.equal(
      cacheIn({
        '/proc/self/cgroup': '0::/system.slice/pod.slice:containerd:01\n',
        '/sys/fs/cgroup/system.slice/pod.slice:containerd:01/memory.stat': STAT_2,
        '/sys/fs/cgroup/system.slice/pod.slice/memory.stat': STAT_1,
      }),
      560,
    );
  });

  it('are found in a container that has the path outside of it', () => {
    assert.equal(
      cacheIn({
        '/proc/self/cgroup': '4:memory:/docker/0123\n',
        '/sys/fs/cgroup/memory/memory.stat': STAT_1,
      }),
      430,
    );
    assert.equal(cacheIn({ '/proc/self/cgroup': '0::/../..\n', '/sys/fs/cgroup/memory.stat': STAT_2 }), 560);
  });

  it('are none where that cannot be told', () => {
    assert.equal(cacheIn({}), 0);
    assert.equal(cacheIn({ '/proc/self/cgroup': '0::/\n' }), 0);
  });

  it('count as free memory, as far as the machine has it', () => {
    assert.ok(freeMemory() >= Math.min(availableMemory(), freemem()) * 0.5);
    assert.ok(freeMemory() <= machineMemory());
  });
});
