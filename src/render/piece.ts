/**
 * Where a large answer is cut (decision 40): at the same places of the timeline for every answer, so that a piece made
 * once is found again in all answers that hold it whole.
 */
import type { PieceJob, RenderJob } from './render-job.ts';

/** About as long are the pieces: longer ones compress no better and take more memory while they are made. */
const PIECE_BYTES = 1024 * 1024;
const MOST_EVENTS = 4096;
/** No piece is longer, however large its events are. */
const LARGEST_PIECE_BYTES = 32 * PIECE_BYTES;

/** Events of the timeline, those of the answer among them. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  /** Absent for what is not worth keeping. */
  readonly name: string | undefined;
}

export type NamedPiece = Piece & { readonly name: string };

export function isNamed(piece: Piece): piece is NamedPiece {
  return piece.name !== undefined;
}

/** Rows of one board or actor, and what a walk through pages sees, are too many different things to keep. */
export function isKept({ selection }: PieceJob): boolean {
  return selection.rows === undefined && selection.upToSequence === undefined;
}

/** The pieces of an answer in order. Those of one series follow each other. */
export function* cut(job: RenderJob, series: string): Generator<Piece, void> {
  const { selection, events } = job;
  const { from, to } = selection;
  const step = eventsOfPiece(job);
  const named = isKept(job);
  for (let start = from - (from % step); start < to; start += step) {
    const end = Math.min(start + step, events.count);
    const isWhole = from <= start && end <= to;
    const name = named && isWhole ? `${series} ${start}` : undefined;
    yield { from: Math.max(start, from), to: Math.min(end, to), name };
  }
}

/** Inside a piece items stand as they do in the middle of the answer. */
export function jobOf({ from, to }: Piece, { parts, events, selection, frame }: RenderJob): PieceJob {
  return {
    parts,
    events,
    selection: { ...selection, from, to },
    frame: { ...frame, beforeFirst: '', afterLast: '', empty: '' },
  };
}

/** The same for all answers of a rendering: a power of two, so that about `PIECE_BYTES` come together. */
function eventsOfPiece({ parts }: PieceJob): number {
  let events = MOST_EVENTS;
  const isTooLong = () =>
    events * parts.typical > PIECE_BYTES || events * parts.largest > LARGEST_PIECE_BYTES;
  while (events > 1 && isTooLong()) events /= 2;
  return events;
}
