/**
 * A large answer as a stream of pieces, compressed or plain (decision 40). The timeline is cut at the same places for every
 * answer, so that a piece made once is copied into all answers that hold it whole; only what stands at the ends of a
 * range is made anew.
 */
import { Joiner, packText } from './packing.ts';
import { cut, isNamed, type NamedPiece, type Piece } from './piece.ts';
import type { Packed, Packing, PieceJob, RenderJob } from './render-job.ts';
import { type Kept, type PieceMemory, Spool } from './spool.ts';
import type { Workshop } from './workshop.ts';

/** So many pieces are made at the same time, and held at most. */
const PIECES_AHEAD = 4;
/** Those ahead, and two that the consumer may still hold. */
const MEMORIES = PIECES_AHEAD + 2;
const MOST_SPARE = 16;
const MOST_GIVEN = 10_000;
/** Kept pieces are read and sent together up to here: a read and a write cost as much as many kilobytes do. */
const RUN_BYTES = 512 * 1024;

/** The pieces of one rendering of one dataset. Another redaction is another rendering, and has other pieces. */
export class PackedAnswers {
  readonly #workshop: Workshop;
  readonly #spool: Spool;
  /** Memory of answers that have ended, for the next ones. */
  readonly #spare: PieceMemory[] = [];
  /** Of these plain answers one has been given already. */
  readonly #given = new Set<string>();
  /** What is being found or made at this moment, by name; the last one of those who wait in line. */
  readonly #making = new Map<string, Promise<unknown>>();

  constructor(workshop: Workshop) {
    this.#workshop = workshop;
    this.#spool = new Spool(workshop.budget);
  }

  /**
   * The plain bytes. An answer that is asked for once is rendered as it goes; what is asked for again is worth half of
   * the budget, for reading it from the page cache takes less than making it.
   */
  plainChunks(job: RenderJob, name: string): AsyncIterable<Uint8Array> {
    if (this.#given.has(name)) return this.chunks(job, name, 'identity');
    if (this.#given.size >= MOST_GIVEN) this.#given.clear();
    this.#given.add(name);
    return this.#workshop.thread.render(job);
  }

  /**
   * The chunks of an answer. `name` stands for everything that settles the bytes, the frame and which events of the
   * timeline are in the answer, scope above all, but the range: pieces of the same name and place are the same.
   */
  async *chunks(job: RenderJob, name: string, packing: Packing): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of this.#join(job, name, packing)) if (chunk.length > 0) yield chunk;
  }

  async *#join(job: RenderJob, name: string, packing: Packing): AsyncGenerator<Uint8Array, void> {
    const joiner = new Joiner(packing);
    const { frame, byteLength } = job;
    const between = packText(frame.beforeOthers, packing);
    yield joiner.begin();
    for await (const part of this.#parts(job, name, packing, between)) {
      if (part.plainBytes === 0) continue;
      const isFirst = joiner.plainBytes === 0;
      const before = joiner.add(isFirst ? packText(frame.beforeFirst, packing) : between);
      const bytes = joiner.add(part);
      if (joiner.plainBytes > byteLength) throw new Error(`${WRONG_LENGTH}: more.`);
      if (part.behindBetween === undefined || isFirst) {
        yield before;
        yield bytes;
      } else {
        yield part.behindBetween;
      }
    }
    const last = joiner.add(packText(joiner.plainBytes === 0 ? frame.empty : frame.afterLast, packing));
    if (joiner.plainBytes !== byteLength) throw new Error(`${WRONG_LENGTH}: ${joiner.plainBytes}.`);
    yield last;
    yield joiner.end();
  }

  /** Gives back what is kept. To be called when the last answer has ended. */
  async close(): Promise<void> {
    await this.#spool.close();
  }

  /** In order, a few ahead. */
  async *#parts(job: RenderJob, name: string, packing: Packing, between: Packed): AsyncGenerator<Part, void> {
    const ahead: Promise<readonly Part[]>[] = [];
    const memories: PieceMemory[] = [];
    let before: Promise<unknown> = Promise.resolve();
    try {
      for (const run of this.#runs(job, name, packing)) {
        const oldest = memories.length < MEMORIES ? undefined : memories.shift();
        const into = oldest ?? this.#spare.pop() ?? { memory: new SharedArrayBuffer(0) };
        memories.push(into);
        const parts = this.#partsOfRun(run, packing, between, into, before);
        // Waited for later, or never when the client goes away.
        before = parts.catch(() => undefined);
        ahead.push(parts);
        if (ahead.length >= PIECES_AHEAD) yield* await ahead.shift()!;
      }
      for (const parts of ahead) yield* await parts;
      // The last two may be on their way still.
      const reusable = this.#spare.length < MOST_SPARE ? memories.splice(0, memories.length - 2) : [];
      this.#spare.push(...reusable);
    } finally {
      // What was given up half way may be anywhere.
      for (const { memory } of memories) this.#workshop.garbage.add(memory.byteLength);
    }
  }

  /** The pieces of an answer in order, those together that are kept one behind the other. */
  *#runs(job: RenderJob, name: string, packing: Packing): Generator<Run, void> {
    let kept: Kept[] = [];
    let pieces: Piece[] = [];
    let runBytes = 0;
    for (const piece of cut(job, `${packing} ${name}`)) {
      const found = piece.name === undefined ? undefined : this.#spool.look(piece.name);
      // Of its events the answer shows none.
      if (found?.length === 0) continue;
      const last = kept.at(-1);
      const isNext = last !== undefined && last.position + last.length === found?.position;
      if (pieces.length > 0 && !(isNext && runBytes + found.length <= RUN_BYTES)) {
        yield { pieces, kept };
        [pieces, kept, runBytes] = [[], [], 0];
      }
      pieces.push(piece);
      if (found === undefined) continue;
      kept.push(found);
      runBytes += found.length;
    }
    if (pieces.length > 0) yield { pieces, kept };
  }

  /** Kept pieces as one part. When there are none, or they are not given back, each piece is one. */
  async #partsOfRun(
    { pieces, kept }: Run,
    packing: Packing,
    between: Packed,
    into: PieceMemory,
    before: Promise<unknown>,
  ): Promise<readonly Part[]> {
    const found = kept.length === 0 ? undefined : await this.#spool.read(kept, into, between.bytes.length);
    if (found !== undefined) return [joinInMemory(found, packing, between, into.memory)];
    const parts: Part[] = [];
    for (const piece of pieces) {
      const own = pieces.length === 1 ? into : { memory: new SharedArrayBuffer(0) };
      parts.push(await this.#piece(piece, packing, own, before));
    }
    return parts;
  }

  /**
   * A piece in the memory given, kept when what comes `before` is. Whoever wants the same at the same time waits, and
   * then finds it kept.
   */
  async #piece(piece: Piece, packing: Packing, into: PieceMemory, before: Promise<unknown>): Promise<Packed> {
    if (!isNamed(piece)) return await this.#make(piece.job, packing, into);
    const { name } = piece;
    const others = this.#making.get(name) ?? Promise.resolve();
    const made = others.catch(() => undefined).then(() => this.#findOrMake(piece, packing, into, before));
    this.#making.set(name, made);
    try {
      return await made;
    } finally {
      if (this.#making.get(name) === made) this.#making.delete(name);
    }
  }

  async #findOrMake(
    { job, name, series }: NamedPiece,
    packing: Packing,
    into: PieceMemory,
    before: Promise<unknown>,
  ): Promise<Packed> {
    const kept = this.#spool.look(name);
    const [found] = (kept && (await this.#spool.read([kept], into))) ?? [];
    if (found !== undefined) return found;
    const made = await this.#make(job, packing, into);
    await before;
    const spareBytes = packing === 'identity' ? this.#workshop.budget.totalBytes / 2 : 0;
    await this.#spool.keep(name, series, made, spareBytes);
    return made;
  }

  async #make(job: PieceJob, packing: Packing, into: PieceMemory): Promise<Packed> {
    const made = await this.#workshop.thread.pack(job, packing, into.memory);
    if (made.bytes.buffer instanceof SharedArrayBuffer) into.memory = made.bytes.buffer;
    return made;
  }
}

const WRONG_LENGTH = 'An answer was to take as many bytes as announced and takes others';

/** What of an answer lies in one memory. */
interface Part extends Packed {
  /** The same bytes, behind those that stand between two pieces. */
  readonly behindBetween?: Uint8Array;
}

/** One piece, or several that are all kept. */
interface Run {
  readonly pieces: readonly Piece[];
  readonly kept: readonly Kept[];
}

/** Pieces that were read into a memory, with room before each, as one. */
function joinInMemory(
  pieces: readonly Packed[],
  packing: Packing,
  between: Packed,
  memory: SharedArrayBuffer,
): Part {
  const joiner = new Joiner(packing);
  const gapBytes = between.bytes.length;
  let end = 0;
  for (const piece of pieces) {
    new Uint8Array(memory, end, gapBytes).set(between.bytes);
    end += gapBytes + piece.bytes.length;
    if (joiner.plainBytes > 0) joiner.add(between);
    joiner.add(piece);
  }
  const behindBetween = new Uint8Array(memory, 0, end);
  const { plainBytes, crc } = joiner;
  return { bytes: behindBetween.subarray(gapBytes), plainBytes, crc, behindBetween };
}
