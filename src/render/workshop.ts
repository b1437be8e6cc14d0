/** What the renderings of a process have in common: the thread for large answers, and the disk for pieces of them. */
import { collectGarbage, Garbage } from './garbage.ts';
import { RenderThread } from './render-thread.ts';
import type { SpoolBudget } from './spool.ts';

/** About ten million events of 0.9 KB, compressed; what goes beyond is made anew each time. */
const SPOOL_BYTES = 2 * 1024 ** 3;

export class Workshop {
  readonly garbage = new Garbage(() => {
    collectGarbage();
    this.thread.collectGarbage();
  });
  readonly thread = new RenderThread(this.garbage);
  readonly budget: SpoolBudget;

  constructor(spoolBytes = SPOOL_BYTES) {
    this.budget = { totalBytes: spoolBytes, leftBytes: spoolBytes };
  }

  async close(): Promise<void> {
    await this.thread.close();
  }
}
