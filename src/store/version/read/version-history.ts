/** Reads the history of an organization from version files, and compares two of them. */
import type { PublishedVersion, VersionDifference } from '../../store.ts';
import { Database, runRows } from '../database.ts';
import { type ComparedVersion, compareVersions, reversed } from '../publish/compare-versions.ts';
import { HISTORY_COLUMNS, historyOf } from '../publish/history.ts';
import { hasHistory, readFormat } from '../publish/schema.ts';
import type { VersionFile } from './version-dataset.ts';

const MEMORY_BYTES = 768e6;
const LATER = 'later';

/** The publications that a file records, and the version in the file. Releases the file. */
export async function readHistory(file: VersionFile): Promise<Omit<PublishedVersion, 'isKept'>[]> {
  const { path, spillFolder, release } = file;
  try {
    const database = await Database.open(path, { readOnly: true, memoryBytes: MEMORY_BYTES, spillFolder });
    try {
      const format = await readFormat(async (sql) => await database.rows(sql));
      const own = await database.rows('SELECT publication, version, published_ms, NULL FROM version');
      const recorded = hasHistory(format)
        ? await database.rows(`SELECT ${HISTORY_COLUMNS} FROM publications ORDER BY publication`)
        : [];
      const history = recorded.map(historyOf);
      const unrecorded = own
        .map(historyOf)
        .filter((one) => history.every((other) => other.version !== one.version));
      return [...history, ...unrecorded];
    } finally {
      database.close();
    }
  } finally {
    release();
  }
}

/** The differences from one version to another one, in either order. Releases the files. */
export async function readDifference(from: VersionFile, to: VersionFile): Promise<VersionDifference> {
  try {
    const database = await Database.open(from.path, {
      ...{ readOnly: true, memoryBytes: MEMORY_BYTES, spillFolder: from.spillFolder },
      attached: { [LATER]: to.path },
    });
    const connection = await database.connect();
    try {
      const ask = async (sql: string) => await runRows(connection, sql);
      const one: ComparedVersion = { format: await readFormat(ask) };
      const other: ComparedVersion = { file: LATER, format: await readFormat(ask, LATER) };
      const [own] = await ask('SELECT last_sequence FROM version');
      const [its] = await ask(`SELECT last_sequence FROM ${LATER}.version`);
      const [fromSequence, toSequence] = [Number(own?.[0]), Number(its?.[0])];
      return fromSequence <= toSequence
        ? await compareVersions(connection, one, other, fromSequence)
        : reversed(await compareVersions(connection, other, one, toSequence));
    } finally {
      connection.closeSync();
      database.close();
    }
  } finally {
    from.release();
    to.release();
  }
}
