/**
 * One version in service: its dataset and everything derived from it, held until the last response
 * has ended.
 */
import type { Dataset } from '../../dataset/dataset.ts';
import { type Redaction, redactionText } from '../../domain/redaction.ts';
import { openRendering, type Rendering } from '../../render/rendering.ts';
import type { RenderThread } from '../../render/thread/render-thread.ts';
import { BoundRequests } from '../request/parsed-request.ts';
import type { Secrets } from '../request/secrets.ts';
import type { HeldVersion } from './replaced-versions.ts';

export class OpenedDataset implements HeldVersion {
  readonly dataset: Dataset;
  recalledFor: HeldVersion['recalledFor'];
  readonly questions: BoundRequests;
  readonly #secrets: Secrets;
  readonly #thread: RenderThread;
  readonly #renderings = new Map<string, { readonly redact: Redaction; readonly rendering: Rendering }>();
  #leases = 0;
  /** Set when the version is no longer leased; called when the last lease has ended. */
  #leave: (() => void) | undefined;

  constructor(dataset: Dataset, secrets: Secrets, thread: RenderThread) {
    this.dataset = dataset;
    this.questions = new BoundRequests(dataset, secrets);
    this.#secrets = secrets;
    this.#thread = thread;
  }

  hold(): void {
    this.#leases += 1;
  }

  release(): void {
    this.#leases -= 1;
    if (this.#leases === 0) this.#leave?.();
  }

  get isLeased(): boolean {
    return this.#leases > 0;
  }

  /** `earlier`: the rendering of an earlier version under the same redaction. */
  rendering(redact: Redaction, earlier?: Rendering): Rendering {
    const kind = redactionText(redact);
    let kept = this.#renderings.get(kind);
    if (kept === undefined) {
      const redacting = { ...redact, secret: this.#secrets.pseudonym };
      kept = { redact, rendering: openRendering(this.dataset, redacting, this.#thread, earlier) };
      this.#renderings.set(kind, kept);
    }
    return kept.rendering;
  }

  /**
   * Prepares everything that the previous version was asked for: the same requests will come again,
   * and must not wait.
   */
  async warmLike(before: OpenedDataset): Promise<void> {
    for (const { redact, rendering } of before.#renderings.values()) {
      await this.rendering(redact, rendering).warm(rendering);
    }
  }

  /**
   * Closes the version when its last lease has ended. Must be called once. `comesBack`: it will be
   * opened again.
   */
  async retire(comesBack = false): Promise<void> {
    const left = new Promise<void>((resolve) => {
      this.#leave = resolve;
    });
    if (this.#leases === 0) this.#leave?.();
    await left;
    if (comesBack) await this.dataset.setAside?.();
    await this.dataset.close();
    // Triggers a collection for every version, however small, because versions are replaced often.
    this.#thread.reclaimer.add(Number.POSITIVE_INFINITY);
  }
}
