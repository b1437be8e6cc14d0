/** A part of a file, in bytes. */
export interface FilePart {
  readonly start: number;
  readonly length: number;
}
