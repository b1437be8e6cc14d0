/**
 * A large answer as a stream of pieces, compressed or plain (decision 40). The timeline is cut at the same places for every
 * answer, so that a piece made once is copied into all answers that hold it whole; only what stands at the ends of a
 * range is made anew.
 */
import { Joiner, packText } from './packing.ts';
import { type Joint, joinKept, type Part } from './part.ts';
import { cut, isKept, isNamed, jobOf, type NamedPiece, type Piece } from './piece.ts';
import type { Packed, Packing, RenderJob } from './render-job.ts';
import { type Kept, type PieceMemory, Spool } from './spool.ts';
import type { Workshop } from './workshop.ts';

/** So many pieces are made at the same time. */
const PIECES_AHEAD = 4;
/** So many runs of kept pieces are read ahead: one more, and their bytes lie less near when they are sent. */
const RUNS_AHEAD = 3;
const MOST_SPARE = 8;
const MOST_GIVEN = 10_000;
/** Kept pieces are read together up to here. Measured: with a quarter of it an export takes some twentieth longer. */
const RUN_BYTES = 2 * 1024 * 1024;

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
   * The plain bytes. An answer that is asked for once is rendered as it goes; what is asked for again is worth a place
   * on the disk, for reading it from the page cache takes less than making it. One that could never
   * be there as a whole is always rendered: a part of it would cost the disk, and the others their places, for little.
   */
  plainChunks(job: RenderJob, name: string): AsyncIterable<Uint8Array> {
    const { thread, budget } = this.#workshop;
    if (!isKept(job) || job.byteLength > budget.plainBytes) return thread.render(job);
    if (this.#given.has(name)) return this.chunks(job, name, 'identity');
    if (this.#given.size >= MOST_GIVEN) this.#given.clear();
    this.#given.add(name);
    return thread.render(job);
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
    for await (const part of this.#parts({ job, series: `${packing} ${name}`, packing, between })) {
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

  /** Those with bytes, in order. What lies in the memory of one stays until the second one after it is asked for. */
  async *#parts(answer: Answer): AsyncGenerator<Part, void> {
    const free: PieceMemory[] = [];
    const held: PieceMemory[] = [];
    try {
      for await (const { parts, into } of this.#partsAhead(answer, free)) {
        if (parts.length === 0) {
          free.push(into);
          continue;
        }
        held.push(into);
        yield* parts;
        // The one before this has left; this one may still be on its way, however many without bytes come next.
        if (held.length > 1) free.push(held.shift()!);
      }
    } finally {
      this.#spare.push(...free.splice(0, Math.max(0, MOST_SPARE - this.#spare.length)));
      this.#drop(free);
      // The last ones may be on their way still.
      this.#drop(held);
    }
  }

  /** The runs of an answer, a few made ahead, each in a memory that is free. */
  async *#partsAhead(answer: Answer, free: PieceMemory[]): AsyncGenerator<InMemory<readonly Part[]>, void> {
    const ahead: Ahead[] = [];
    let before: Promise<unknown> = Promise.resolve();
    try {
      for (const run of this.#runs(answer)) {
        const into = free.pop() ?? this.#spare.pop() ?? { memory: new SharedArrayBuffer(0) };
        const parts = this.#partsOfRun(run, answer, into, before);
        // Waited for later, or never when the client goes away.
        before = parts.catch(() => undefined);
        ahead.push({ parts, into });
        const most = run.kept.length > 0 ? RUNS_AHEAD : PIECES_AHEAD;
        while (ahead.length >= most) yield await takeFirst(ahead);
      }
      while (ahead.length > 0) yield await takeFirst(ahead);
    } finally {
      // What was given up half way may be anywhere.
      this.#drop(ahead.map(({ into }) => into));
    }
  }

  #drop(memories: readonly PieceMemory[]): void {
    for (const { memory } of memories) this.#workshop.garbage.add(memory.byteLength);
  }

  /** The pieces of an answer in order, those together that are kept one behind the other. */
  *#runs({ job, series }: Answer): Generator<Run, void> {
    let kept: Kept[] = [];
    let pieces: Piece[] = [];
    let runBytes = 0;
    for (const piece of cut(job, series)) {
      const found = piece.name === undefined ? undefined : this.#spool.look(piece.name);
      // Of its events the answer shows none.
      if (found?.length === 0) continue;
      const last = kept.at(-1);
      const isNext = last !== undefined && last.position + last.length === found?.position;
      const hasRoom = runBytes + (found?.length ?? 0) <= RUN_BYTES;
      if (pieces.length > 0 && !(isNext && hasRoom)) {
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
    answer: Answer,
    into: PieceMemory,
    before: Promise<unknown>,
  ): Promise<readonly Part[]> {
    const found = kept.length === 0 ? undefined : await this.#spool.read(kept, into);
    if (found !== undefined) return [joinKept(kept, found, answer)];
    const parts: Part[] = [];
    for (const piece of pieces) {
      const own = pieces.length === 1 ? into : { memory: new SharedArrayBuffer(0) };
      parts.push(await this.#piece(piece, answer, own, before));
      if (own !== into) this.#drop([own]);
    }
    return parts;
  }

  /**
   * A piece in the memory given, kept when what comes `before` is. Whoever wants the same at the same time waits, and
   * then finds it kept.
   */
  async #piece(piece: Piece, answer: Answer, into: PieceMemory, before: Promise<unknown>): Promise<Part> {
    if (!isNamed(piece)) return await this.#make(piece, answer, into);
    const { name } = piece;
    const others = this.#making.get(name) ?? Promise.resolve();
    const made = others.catch(() => undefined).then(() => this.#findOrMake(piece, answer, into, before));
    this.#making.set(name, made);
    try {
      return await made;
    } finally {
      if (this.#making.get(name) === made) this.#making.delete(name);
    }
  }

  async #findOrMake(
    piece: NamedPiece,
    answer: Answer,
    into: PieceMemory,
    before: Promise<unknown>,
  ): Promise<Part> {
    const { series, packing, between } = answer;
    const kept = this.#spool.look(piece.name);
    const found = kept && (await this.#spool.read([kept], into));
    if (kept !== undefined && found !== undefined) return joinKept([kept], found, answer);
    const made = await this.#make(piece, answer, into);
    await before;
    const isPlain = packing === 'identity';
    await this.#spool.keep(piece.name, series, made, { before: between.bytes, isPlain });
    return made;
  }

  async #make(piece: Piece, { job, packing }: Answer, into: PieceMemory): Promise<Packed> {
    const made = await this.#workshop.thread.pack(jobOf(piece, job), packing, into.memory);
    if (made.bytes.buffer instanceof SharedArrayBuffer) into.memory = made.bytes.buffer;
    return made;
  }
}

const WRONG_LENGTH = 'An answer was to take as many bytes as announced and takes others';

/** What an answer is made of. */
interface Answer extends Joint {
  readonly job: RenderJob;
  /** Names all of its pieces that are kept. */
  readonly series: string;
}

/** One piece, or several that are all kept. */
interface Run {
  readonly pieces: readonly Piece[];
  readonly kept: readonly Kept[];
}

/** The parts of one run, and the memory that is meant for them. */
interface InMemory<Parts> {
  readonly parts: Parts;
  readonly into: PieceMemory;
}

type Ahead = InMemory<Promise<readonly Part[]>>;

/** When it is made, without the parts that have no bytes. */
async function takeFirst(ahead: Ahead[]): Promise<InMemory<readonly Part[]>> {
  const [first] = ahead;
  if (first === undefined) throw new Error('unreachable: nothing is ahead');
  const parts = (await first.parts).filter(({ plainBytes }) => plainBytes > 0);
  ahead.shift();
  return { parts, into: first.into };
}
