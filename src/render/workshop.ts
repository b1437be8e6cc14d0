/** What the renderings of a process have in common: the thread for large answers, and the disk for pieces of them. */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { collectGarbage, Garbage } from './garbage.ts';
import { RenderThread } from './render-thread.ts';
import type { SpoolBudget } from './spool.ts';

/** About fifty million events of 0.9 KB, compressed; what goes beyond is made anew each time. */
const MOST_SPOOL_BYTES = 8 * 1024 ** 3;
/** So that eight processes take half of what is free at the most. */
const SHARE_OF_FREE_DISK = 1 / 16;

export class Workshop {
  readonly garbage = new Garbage(() => {
    collectGarbage();
    this.thread.collectGarbage();
  });
  readonly thread = new RenderThread(this.garbage);
  readonly budget: SpoolBudget;

  constructor(spoolBytes = defaultSpoolBytes()) {
    this.budget = { totalBytes: spoolBytes, leftBytes: spoolBytes };
  }

  async close(): Promise<void> {
    await this.thread.close();
  }
}

function defaultSpoolBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    return Math.min(MOST_SPOOL_BYTES, bavail * bsize * SHARE_OF_FREE_DISK);
  } catch {
    // Without a folder for temporary files nothing can be kept.
    return 0;
  }
}
