/**
 * A data folder or a database as an earlier commit has left it, with the responses of its server.
 * The program that made the fixtures and the test share this file.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Fixture } from './captured.ts';

export interface KeptFixture extends Fixture {
  /** The files of a data folder, in base64. */
  readonly files?: Readonly<Record<string, string>>;
  /** The schema of a database, in SQL. */
  readonly dump?: string;
}

const FULL = { boards: 'all', users: 'all' } as const;
const PLAIN = { email: false, name: false, id: false };

/** The keys of each organization, by label. */
export const KEPT_KEYS = {
  full: { scope: FULL, redact: PLAIN },
  board: { scope: { boards: [7n], users: 'of-boards' }, redact: PLAIN },
  redacted: { scope: FULL, redact: { email: true, name: true, id: true } },
  revoked: { scope: FULL, redact: PLAIN },
} as const;

export function keptFixturePath(name: string): string {
  return join(import.meta.dirname, `${name}.json.gz`);
}

export async function readKeptFixture(name: string): Promise<KeptFixture> {
  return JSON.parse(gunzipSync(await readFile(keptFixturePath(name))).toString());
}

/** Writes the data folder of a fixture. */
export async function unpackFolder({ files = {} }: KeptFixture, folder: string): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), Buffer.from(content, 'base64'));
  }
}
