/** Keeps the memory images of a version for its next opening. */
import { type ImagePieces, type ImagePlace, imageBytes } from '../image.ts';

/** A version that is replaced sooner is not worth writing all of it once more. */
const SERVED_MS = 60_000;
/** Workers that load the same version do not all write it. */
const SPREAD_MS = 30_000;
/** A smaller version is loaded from its file in less than a tenth of a second. */
const LEAST_BYTES = 2 * 1024 * 1024;

export class ImageKeeper {
  /** For each image, what writes it unless it is written already. */
  readonly #writes: (() => Promise<void>)[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #isOver = false;

  /** Writes the image once the version has been served for a while. */
  keep(place: ImagePlace, image: ImagePieces): void {
    if (this.#isOver || imageBytes(image) < LEAST_BYTES) return;
    let kept: Promise<void> | undefined;
    const write = async () => {
      kept ??= place.write(image);
      await kept;
    };
    this.#writes.push(write);
    this.#timers.push(setTimeout(() => void write(), SERVED_MS + Math.random() * SPREAD_MS).unref());
  }

  /** Resolves when the images are written, immediately if no writing was begun yet. */
  async keepNow(): Promise<void> {
    this.callOff();
    for (const write of this.#writes) await write();
  }

  callOff(): void {
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** The same place, but images are written once the version has been served for a while. */
  later(place: ImagePlace): ImagePlace {
    return {
      size: () => place.size(),
      read: (memoryFor) => place.read(memoryFor),
      write: async (image) => this.keep(place, image),
    };
  }
}
