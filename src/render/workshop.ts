/** What the renderings of a process have in common: the thread for large answers, and the disk for pieces of them. */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { availableMemory } from 'node:process';
import { collectGarbage, Garbage } from './garbage.ts';
import { RenderThread } from './render-thread.ts';
import type { SpoolBudget } from './spool.ts';

/** About two hundred million events of 0.9 KB, compressed; what goes beyond is made anew each time. */
const MOST_SPOOL_BYTES = 32 * 1024 ** 3;
/** Of all processes together. */
const SHARE_OF_FREE_DISK = 1 / 4;
/** Plain pieces take seven times as much as compressed ones. They must leave room for those, and fit into the page cache. */
const PLAIN_SHARE = 1 / 2;

export class Workshop {
  readonly garbage = new Garbage(() => {
    collectGarbage();
    this.thread.collectGarbage();
  });
  readonly thread = new RenderThread(this.garbage);
  readonly budget: SpoolBudget;

  /** `processes` share the machine. */
  constructor(processes = 1) {
    const totalBytes = freeSpoolBytes() / processes;
    const plainBytes = Math.min(totalBytes, availableMemory() / processes) * PLAIN_SHARE;
    this.budget = { totalBytes, plainBytes, leftBytes: totalBytes };
  }

  async close(): Promise<void> {
    await this.thread.close();
  }
}

function freeSpoolBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    return Math.min(MOST_SPOOL_BYTES, bavail * bsize * SHARE_OF_FREE_DISK);
  } catch {
    // Without a folder for temporary files nothing can be kept.
    return 0;
  }
}
