/** Keeps the memory image of a version for the next start of the server. */
import { type ImagePlace, imageBytes } from '../image.ts';
import type { Holdings } from './dataset.ts';
import { imageOf } from './holdings-image.ts';

/** A version that is replaced sooner is not worth writing all of it once more. */
const SERVED_MS = 60_000;
/** Workers that load the same version do not all write it. */
const SPREAD_MS = 30_000;
/** A smaller version is loaded in a tenth of a second. */
const LEAST_BYTES = 8 * 1024 * 1024;

/** Writes the image once the version has been served for a while. Returns how to call it off. */
export function keepImage(place: ImagePlace, held: Holdings): () => void {
  const image = imageOf(held);
  if (imageBytes(image) < LEAST_BYTES) return () => {};
  const timer = setTimeout(() => void place.write(image), SERVED_MS + Math.random() * SPREAD_MS);
  timer.unref();
  return () => clearTimeout(timer);
}
