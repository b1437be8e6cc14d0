/**
 * Copies many fragments at once with a few WebAssembly instructions (`gather.wat`), which read and
 * write 16 bytes at a time and check no bounds. Several times as fast as copying words of eight
 * bytes through a `DataView`.
 */

/**
 * The parts of the global that are used. TypeScript declares it only together with the types of
 * browsers.
 */
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

/** Shared memory that can grow; `buffer` covers its current size. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** Throws if there is no more memory. */
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
/** The maximum number of fragments in the list. */
const MOST_PIECES = LIST_BYTES / 8;
/**
 * The maximum number of bytes per call. There is room behind them for the bytes that are copied
 * beyond the last fragment.
 */
export const MOST_GATHERED_BYTES = SCRATCH_PAGES * PAGE_BYTES - LIST_BYTES - 64;

const compiled = new WebAssembly.Module(Buffer.from(GATHER_MODULE, 'base64'));
/** One per thread; results are copied out of it at once. */
const scratch = new WebAssembly.Memory({ initial: SCRATCH_PAGES });

/** One page of memory, which can grow to `mostPages`. */
export function openSharedMemory(mostPages = MOST_PAGES): SharedMemory {
  return new WebAssembly.Memory({ initial: 1, maximum: mostPages, shared: true });
}

/** The input: address in the memory and length of each fragment. */
export const LIST = new Uint32Array(scratch.buffer, 0, 2 * MOST_PIECES);
/** The output of the last call, from its first byte on. */
export const GATHERED = Buffer.from(scratch.buffer, LIST_BYTES);

/**
 * Returns a function that gathers the first `pieces` fragments of `LIST` from this memory, at least
 * one. Each fragment must be readable for 32 bytes beyond its end. Together they must not exceed
 * `MOST_GATHERED_BYTES`.
 */
export function openGather(fragments: SharedMemory): (pieces: number) => void {
  const { gather } = new WebAssembly.Instance(compiled, { memory: { fragments, scratch } }).exports;
  if (typeof gather !== 'function') throw new Error('unreachable: the module exports a function');
  return (pieces) => gather(8 * pieces, LIST_BYTES);
}
