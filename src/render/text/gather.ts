/**
 * Many pieces copied at once, by a few instructions of WebAssembly (`gather.wat`): it reads and writes sixteen bytes at
 * a time and checks no bounds. Measured: an event of 0.9 KB among a million takes 0.3 microseconds, in words of eight
 * bytes through a `DataView` 1.2.
 */

/** What is used of the global; the language's own types have it only together with those of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly Memory: (new (pages: {
    initial: number;
    maximum: number;
    shared: true;
  }) => SharedMemory) &
    (new (pages: {
      initial: number;
    }) => { readonly buffer: ArrayBuffer });
};

/** Shared memory that can grow; `buffer` is all of it as of now. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** Throws when there is no more. */
  grow(pages: number): number;
}

export const PAGE_BYTES = 64 * 1024;
/** Four gigabytes. */
export const MOST_PAGES = 65_536;

/** `gather.wat`, compiled. */
export const GATHER_MODULE =
  'AGFzbQEAAAABBwFgAn9/AX8CKgIGbWVtb3J5CWZyYWdtZW50cwIDAYCABAZtZW1vcnkHc2NyYXRjaAIAAQMCAQAHCgEGZ2F0aGVyAAAKowEBoAEBA38DQCAC' +
  'KEIBACEDIAMgAihCAQRqIQQDQCADLQAAGiADQcAAaiEDIAMgBEkNAAsgAkEIaiECIAIgAEkNAAtBACECA0AgAihCAQAhAyABIAIoQgEEaiEEA0AgASAD' +
  '/QAEAP0LRAEAIAEgA/0ABBD9C0QBECADQSBqIQMgAUEgaiEBIAEgBEkNAAsgBCEBIAJBCGohAiACIABJDQALIAEL';

const LIST_BYTES = PAGE_BYTES;
const SCRATCH_PAGES = 4;
/** So many pieces can be listed. */
const MOST_PIECES = LIST_BYTES / 8;
/** So many bytes can be gathered at once. What is copied beyond the last piece has room behind them. */
export const MOST_GATHERED_BYTES = SCRATCH_PAGES * PAGE_BYTES - LIST_BYTES - 64;

const compiled = new WebAssembly.Module(Buffer.from(GATHER_MODULE, 'base64'));
/** One for each thread: whatever is gathered is taken from there at once. */
const scratch = new WebAssembly.Memory({ initial: SCRATCH_PAGES });

/** A page, which can grow to so many. */
export function openSharedMemory(mostPages = MOST_PAGES): SharedMemory {
  return new WebAssembly.Memory({ initial: 1, maximum: mostPages, shared: true });
}

/** Pieces to be gathered: of each its address in the memory, then its length. */
export const LIST = new Uint32Array(scratch.buffer, 0, 2 * MOST_PIECES);
/** What was gathered last, from its first byte on. */
export const GATHERED = Buffer.from(scratch.buffer, LIST_BYTES);

/**
 * Answers what gathers as many pieces as it is told of, at least one, from this memory. Each can be read for
 * 32 bytes beyond its end, and all are together no longer than `MOST_GATHERED_BYTES`.
 */
export function openGather(fragments: SharedMemory): (pieces: number) => void {
  const { gather } = new WebAssembly.Instance(compiled, { memory: { fragments, scratch } }).exports;
  if (typeof gather !== 'function') throw new Error('unreachable: the module exports a function');
  return (pieces) => gather(8 * pieces, LIST_BYTES);
}
