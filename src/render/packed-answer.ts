/**
 * A large answer as a stream of pieces, compressed or plain (decision 40). The timeline is cut at the same places for every
 * answer, so that a piece made once is copied into all answers that hold it whole; only what stands at the ends of a
 * range is made anew.
 */
import type { Frame } from './frame.ts';
import { Joiner, packText } from './packing.ts';
import type { Packed, Packing, PieceJob, RenderJob } from './render-job.ts';
import { type PieceMemory, Spool } from './spool.ts';
import type { Workshop } from './workshop.ts';

/** So many pieces are made at the same time, and held at most. */
const PIECES_AHEAD = 4;
/** Those ahead, and two that the consumer may still hold. */
const MEMORIES = PIECES_AHEAD + 2;
const MOST_SPARE = 16;
/** About as long are the pieces: longer ones compress no better and take more memory while they are made. */
const PIECE_BYTES = 1024 * 1024;
const MOST_EVENTS = 4096;
const MOST_GIVEN = 10_000;
/** No piece is longer, however large its events are. */
const LARGEST_PIECE_BYTES = 32 * PIECE_BYTES;

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
    for await (const piece of this.#pieces(job, name, packing)) {
      if (piece.plainBytes === 0) continue;
      const before = joiner.plainBytes === 0 ? packText(frame.beforeFirst, packing) : between;
      yield joiner.add(before);
      if (joiner.plainBytes + piece.plainBytes > byteLength) throw new Error(`${WRONG_LENGTH}: more.`);
      yield joiner.add(piece);
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
  async *#pieces(job: RenderJob, name: string, packing: Packing): AsyncGenerator<Packed, void> {
    const ahead: Promise<Packed>[] = [];
    const memories: PieceMemory[] = [];
    for (const piece of cut(job, name)) {
      const oldest = memories.length < MEMORIES ? undefined : memories.shift();
      const into = oldest ?? this.#spare.pop() ?? { memory: new SharedArrayBuffer(0) };
      memories.push(into);
      const made = this.#piece(piece, packing, into);
      // Waited for later, or never when the client goes away.
      made.catch(() => undefined);
      ahead.push(made);
      if (ahead.length >= PIECES_AHEAD) yield await ahead.shift()!;
    }
    for (const made of ahead) yield await made;
    // The last two may be on their way still; and what was given up half way may be anywhere.
    const reusable = this.#spare.length < MOST_SPARE ? memories.splice(0, memories.length - 2) : [];
    this.#spare.push(...reusable);
    for (const { memory } of memories) this.#workshop.garbage.add(memory.byteLength);
  }

  /** A piece in the memory given. Whoever wants the same at the same time waits, and then finds it kept. */
  async #piece({ job, name }: Piece, packing: Packing, into: PieceMemory): Promise<Packed> {
    if (name === undefined) return await this.#make(job, packing, into);
    const full = `${packing} ${name}`;
    const before = this.#making.get(full) ?? Promise.resolve();
    const made = before.catch(() => undefined).then(() => this.#findOrMake(job, packing, full, into));
    this.#making.set(full, made);
    try {
      return await made;
    } finally {
      if (this.#making.get(full) === made) this.#making.delete(full);
    }
  }

  async #findOrMake(job: PieceJob, packing: Packing, name: string, into: PieceMemory): Promise<Packed> {
    const kept = await this.#spool.find(name, into);
    if (kept !== undefined) return kept;
    const made = await this.#make(job, packing, into);
    await this.#spool.keep(name, made, packing === 'identity' ? this.#workshop.budget.totalBytes / 2 : 0);
    return made;
  }

  async #make(job: PieceJob, packing: Packing, into: PieceMemory): Promise<Packed> {
    const made = await this.#workshop.thread.pack(job, packing, into.memory);
    if (made.bytes.buffer instanceof SharedArrayBuffer) into.memory = made.bytes.buffer;
    return made;
  }
}

const WRONG_LENGTH = 'An answer was to take as many bytes as announced and takes others';

interface Piece {
  readonly job: PieceJob;
  /** Absent for what is not worth keeping. */
  readonly name: string | undefined;
}

/** The job in pieces; inside a piece items stand as they do in the middle of the answer. */
function* cut(job: RenderJob, name: string): Generator<Piece, void> {
  const { selection, columns } = job;
  const { from, to } = selection;
  const frame: Frame = { ...job.frame, beforeFirst: '', afterLast: '', empty: '' };
  const events = eventsOfPiece(job);
  // Rows of one board or actor, and what a walk through pages sees, are too many different things to keep.
  const isKept = selection.rows === undefined && selection.upToSequence === undefined;
  for (let start = from - (from % events); start < to; start += events) {
    const end = Math.min(start + events, columns.count);
    const piece = { ...selection, from: Math.max(start, from), to: Math.min(end, to) };
    const isPart = piece.from > start || piece.to < end;
    yield {
      job: { parts: job.parts, columns, selection: piece, frame },
      name: isKept && !isPart ? `${name} ${start}` : undefined,
    };
  }
}

/** The same for all answers of a rendering: a power of two, so that about `PIECE_BYTES` come together. */
function eventsOfPiece({ parts }: PieceJob): number {
  let events = MOST_EVENTS;
  const isTooLong = () =>
    events * parts.typical > PIECE_BYTES || events * parts.largest > LARGEST_PIECE_BYTES;
  while (events > 1 && isTooLong()) events /= 2;
  return events;
}
