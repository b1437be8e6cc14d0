/** The published users, and addresses that an import gives, by which a format can know a user. */
import { hash } from 'node:crypto';
import type { Dataset } from '../dataset/dataset.ts';
import type { ExternalRecords } from './external-records.ts';
import type { KnownUsers } from './formats/format.ts';

export class ImportedUsers implements KnownUsers {
  readonly #records: ExternalRecords;
  readonly #ids = new Map<string, bigint>();

  constructor(records: ExternalRecords) {
    this.#records = records;
  }

  /** Reads the addresses of the current version. */
  async learn(dataset: Dataset): Promise<void> {
    for await (const { id: ids, email } of dataset.records('users')) {
      for (const [at, id] of ids.entries()) {
        const address = email.at(at);
        const lowerCase = address.toLowerCase();
        this.noteAddress(address, id);
        if (lowerCase !== address) this.noteAddress(lowerCase, id);
      }
    }
  }

  isPublished(id: bigint): boolean {
    return this.#records.isPublished('users', id);
  }

  noteAddress(address: string, id: bigint): void {
    this.#ids.set(digestOf(address), id);
  }

  withDigest(digest: string): bigint | undefined {
    return this.#ids.get(digest);
  }
}

function digestOf(address: string): string {
  return hash('sha1', `mailto:${address}`);
}
