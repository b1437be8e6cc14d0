/**
 * A large answer as a compressed stream of pieces (decision 40). The timeline is cut at the same places for every
 * answer, so that a piece made once is copied into all answers that hold it whole; only what stands at the ends of a
 * range is made anew.
 */
import { isWhole } from '../dataset/timeline.ts';
import type { Frame } from './frame.ts';
import { Joiner, packText } from './packing.ts';
import type { Packed, Packing, RenderJob } from './render-job.ts';
import type { RenderThread } from './render-thread.ts';
import type { Spool } from './spool.ts';

/** So many pieces are made at the same time, and held at most. */
const PIECES_AHEAD = 4;
/** About as long are the pieces: longer ones compress no better and take more memory while they are made. */
const PIECE_BYTES = 2 * 1024 * 1024;
const MOST_EVENTS = 4096;
/** No piece is longer, however large its events are. */
const LARGEST_PIECE_BYTES = 32 * PIECE_BYTES;

/** The pieces of one rendering of one dataset. Another redaction is another rendering, and has other pieces. */
export class PackedAnswers {
  readonly #thread: RenderThread;
  readonly #spool: Spool;
  /** Made at this moment: many who ask for the same at the same time wait for the same. */
  readonly #making = new Map<string, Promise<Packed>>();

  constructor(thread: RenderThread, spool: Spool) {
    this.#thread = thread;
    this.#spool = spool;
  }

  /**
   * The chunks of an answer. `name` stands for everything that settles the bytes of an event and which events of the
   * timeline are in the answer, scope above all, but the range: pieces of the same name and place are the same.
   */
  async *chunks(job: RenderJob, name: string, packing: Packing): AsyncGenerator<Uint8Array, void> {
    const joiner = new Joiner(packing);
    const { frame } = job;
    const between = packText(frame.beforeOthers, packing);
    yield joiner.begin();
    for await (const piece of this.#pieces(job, name, packing)) {
      if (piece.plainBytes === 0) continue;
      const before = joiner.plainBytes === 0 ? packText(frame.beforeFirst, packing) : between;
      if (before.plainBytes > 0) yield joiner.add(before);
      yield joiner.add(piece);
    }
    yield joiner.add(packText(joiner.plainBytes === 0 ? frame.empty : frame.afterLast, packing));
    yield joiner.end();
  }

  /** Gives back what is kept. To be called when the last answer has ended. */
  async close(): Promise<void> {
    await this.#spool.close();
  }

  /** In order, a few ahead. */
  async *#pieces(job: RenderJob, name: string, packing: Packing): AsyncGenerator<Packed, void> {
    const ahead: Promise<Packed>[] = [];
    for (const piece of cut(job, name)) {
      const made = this.#piece(piece, packing);
      // Waited for later, or never when the client goes away.
      made.catch(() => undefined);
      ahead.push(made);
      if (ahead.length >= PIECES_AHEAD) yield await ahead.shift()!;
    }
    for (const made of ahead) yield await made;
  }

  async #piece({ job, name }: Piece, packing: Packing): Promise<Packed> {
    if (name === undefined) return await this.#thread.pack(job, packing);
    const full = `${packing} ${name}`;
    const making = this.#making.get(full) ?? this.#findOrMake(job, full, packing);
    this.#making.set(full, making);
    return await making.finally(() => this.#making.delete(full));
  }

  async #findOrMake(job: RenderJob, name: string, packing: Packing): Promise<Packed> {
    const kept = await this.#spool.find(name);
    if (kept !== undefined) return kept;
    const made = await this.#thread.pack(job, packing);
    await this.#spool.keep(name, made);
    return made;
  }
}

interface Piece {
  readonly job: RenderJob;
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
      name: isKept && !isPart ? `${isWhole(selection) ? 'all' : name} ${start}` : undefined,
    };
  }
}

/** The same for all answers of a rendering: a power of two, so that about `PIECE_BYTES` come together. */
function eventsOfPiece({ parts }: RenderJob): number {
  let events = MOST_EVENTS;
  const isTooLong = () =>
    events * parts.typical > PIECE_BYTES || events * parts.largest > LARGEST_PIECE_BYTES;
  while (events > 1 && isTooLong()) events /= 2;
  return events;
}
