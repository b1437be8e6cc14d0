/** What the renderings of a process have in common: the thread for large answers, and the disk for compressed ones. */
import { RenderThread } from './render-thread.ts';
import { Spool } from './spool.ts';

/** About twenty million events of 0.9 KB, compressed; what goes beyond is compressed anew each time. */
const SPOOL_BYTES = 4 * 1024 ** 3;

export class Workshop {
  readonly thread = new RenderThread();
  readonly #budget = { leftBytes: SPOOL_BYTES };

  openSpool(): Spool {
    return new Spool(this.#budget);
  }

  async close(): Promise<void> {
    await this.thread.close();
  }
}
