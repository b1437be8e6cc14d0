/** Finds texts in everything that a place stores: files, tables, and chunks wherever they are. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openPlace } from '../../src/store/chunks/places.ts';
import type { Place } from './places.ts';

/**
 * Paths and tables that contain one of the texts, ignoring case, in a name or in the content. The
 * audit is not searched: it outlives the organizations of which it has records (decision 87).
 */
export async function remainsOf(texts: readonly string[], place: Place): Promise<readonly string[]> {
  const { data, database, cache } = place.options;
  const isAudit = (path: string) => path.startsWith(join(data, 'audit'));
  const inData = inFolder(data, texts).filter((path) => !isAudit(path));
  const found = [...inData, ...(cache === undefined ? [] : inFolder(cache, texts))];
  return database === undefined ? found : [...found, ...(await inDatabase(database, texts))];
}

/** In the names and the content of all files of a folder. */
export function inFolder(folder: string, texts: readonly string[]): readonly string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    const content = entry.isFile() ? readFileSync(path) : Buffer.alloc(0);
    return contains(entry.name, texts) || contains(content.toString('latin1'), texts) ? [path] : [];
  });
}

async function inDatabase(url: string, texts: readonly string[]): Promise<readonly string[]> {
  const database = new PostgresDatabase(url);
  try {
    const found: string[] = [];
    const tables = `SELECT table_name FROM information_schema.tables
      WHERE table_schema = 'corkboard' AND table_name <> 'audit'`;
    for (const [table] of await database.rows(tables)) {
      const rows = await database.rows(`SELECT one::text FROM corkboard.${table} one`);
      if (contains(rows.map(([row]) => `${row} ${unhex(String(row))}`).join('\n'), texts))
        found.push(`${table}`);
    }
    return [...found, ...(await inPlaceOfChunks(database, texts))];
  } finally {
    await database.close();
  }
}

async function inPlaceOfChunks(database: PostgresDatabase, texts: readonly string[]) {
  const [[address] = []] = await database.rows('SELECT place FROM catalog');
  const place = await openPlace(String(address), database);
  const found: string[] = [];
  for await (const names of place.list('')) {
    for (const name of names) {
      const bytes = Buffer.from((await place.get(name)) ?? []);
      if (contains(name, texts) || contains(bytes.toString('latin1'), texts)) found.push(name);
    }
  }
  await place.close();
  return found;
}

/** The bytes that PostgreSQL writes as hexadecimal digits. */
function unhex(row: string): string {
  return [...row.matchAll(/\\x([0-9a-f]+)/g)].map(([, digits = '']) => latin1(digits)).join(' ');
}

function latin1(digits: string): string {
  return Buffer.from(digits, 'hex').toString('latin1');
}

function contains(content: string, texts: readonly string[]): boolean {
  const lower = content.toLowerCase();
  return texts.some((text) => lower.includes(text.toLowerCase()));
}
