/** Chunks in memory; counts the requests, and can be made to fail. */
import type { ChunkPlace } from '../../src/store/chunks/chunk-place.ts';

export class MemoryPlace implements ChunkPlace {
  readonly parallel = 3;
  readonly chunks = new Map<string, Uint8Array>();
  /** Names in the order of the requests. */
  readonly gets: string[] = [];
  readonly puts: string[] = [];
  /** Replaces the bytes of a chunk. */
  answer: (name: string, bytes: Uint8Array | undefined) => Uint8Array | undefined = (_name, bytes) => bytes;

  async put(name: string, bytes: Uint8Array): Promise<void> {
    this.puts.push(name);
    this.chunks.set(name, Uint8Array.from(bytes));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    this.gets.push(name);
    return this.answer(name, this.chunks.get(name));
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    yield [...this.chunks.keys()].filter((name) => name.startsWith(prefix));
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const name of names) this.chunks.delete(name);
  }

  async close(): Promise<void> {}
}
