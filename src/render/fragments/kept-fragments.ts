/**
 * The fragments of events in JSON, kept beside the version: the first large response after a start
 * then does not wait until every user, board and pin has been rendered.
 */
import { type Image, type ImageArray, type ImagePlace, ImageReader } from '../../dataset/image.ts';
import type { RecordTable } from '../../dataset/records.ts';
import type { FragmentMemory } from '../text/fragment-memory.ts';
import { Fragments } from '../text/fragments.ts';

export type KeptFragments = { readonly [T in RecordTable]: Fragments };

const TABLES: readonly RecordTable[] = ['users', 'boards', 'pins'];
/** The array with the bytes of all fragments. */
const MEMORY = 'memory';

/** Undefined if some of them are not in the memory. */
export function imageOfFragments(fragments: KeptFragments, memory: FragmentMemory): Image | undefined {
  if (TABLES.some((table) => !fragments[table].share().isGathered)) return undefined;
  const arrays = TABLES.flatMap((table): [string, ImageArray][] => {
    const { places, largest, total } = fragments[table].share();
    return [
      [`${table} places`, places],
      [`${table} sizes`, Float64Array.of(largest, total)],
    ];
  });
  return new Map([...arrays, [MEMORY, new Uint8Array(memory.memory.buffer, 0, memory.takenBytes)]]);
}

/**
 * Reads fragments into the memory, where they must come first: places in it are absolute. Undefined
 * if there are none, or if the memory is in use.
 */
export async function readKeptFragments(
  place: ImagePlace,
  memory: FragmentMemory,
): Promise<KeptFragments | undefined> {
  if (memory.takenBytes > 0) return undefined;
  let taken: { readonly start: number; readonly bytes: number } | undefined;
  const image = await place.read((name, bytes) => {
    if (name !== MEMORY) return undefined;
    const start = memory.take(bytes);
    if (start === undefined) return undefined;
    taken = { start, bytes };
    return start === 0 ? memory.memory.buffer : undefined;
  });
  if (image !== undefined && taken?.start === 0) return fragmentsOf(new ImageReader(image), memory);
  if (taken !== undefined) memory.giveBack(taken.start, taken.bytes);
  return undefined;
}

function fragmentsOf(reader: ImageReader, { memory }: FragmentMemory): KeptFragments {
  const read = (table: RecordTable) => {
    const [largest = 0, total = 0] = reader.doubles(`${table} sizes`);
    const places = reader.positions(`${table} places`);
    return new Fragments({ blocks: [memory.buffer], places, largest, total, isGathered: true });
  };
  return { users: read('users'), boards: read('boards'), pins: read('pins') };
}
