/** Keeps the memory image of a version for its next opening. */
import { type ImagePlace, imageBytes } from '../image.ts';
import type { Holdings } from './dataset.ts';
import { imageOf } from './holdings-image.ts';

/** A version that is replaced sooner is not worth writing all of it once more. */
const SERVED_MS = 60_000;
/** Workers that load the same version do not all write it. */
const SPREAD_MS = 30_000;
/** A smaller version is loaded in a tenth of a second. */
const LEAST_BYTES = 8 * 1024 * 1024;

export class ImageKeeper {
  readonly #keep: () => Promise<void>;
  readonly #timer: NodeJS.Timeout | undefined;

  /** Writes the image once the version has been served for a while. */
  constructor(place: ImagePlace, held: Holdings) {
    const image = imageOf(held);
    let kept: Promise<void> | undefined;
    this.#keep = async () => {
      if (imageBytes(image) < LEAST_BYTES) return;
      kept ??= place.write(image);
      await kept;
    };
    this.#timer = setTimeout(() => void this.#keep(), SERVED_MS + Math.random() * SPREAD_MS).unref();
  }

  /** Resolves when the image is written, immediately if it was not yet begun. */
  async keepNow(): Promise<void> {
    this.callOff();
    await this.#keep();
  }

  callOff(): void {
    clearTimeout(this.#timer);
  }
}
