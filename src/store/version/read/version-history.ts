/** Reads the history of an organization from version files, and compares two of them. */
import type { PublishedVersion, VersionDifference } from '../../store.ts';
import { runRows } from '../database.ts';
import { type ComparedVersion, compareVersions, reversed } from '../publish/compare-versions.ts';
import { historyOf, readHistoryOf } from '../publish/history.ts';
import { verifyVersion } from '../publish/version-identity.ts';
import { openVersion, type VersionFile } from './opened-version.ts';

const MEMORY_BYTES = 768e6;
const LATER = 'later';

/** The publications that a file records, and the version in the file. Releases the file. */
export async function readHistory(file: VersionFile): Promise<Omit<PublishedVersion, 'isKept'>[]> {
  try {
    const { database, format } = await openVersion(file, MEMORY_BYTES);
    try {
      const own = await database.rows('SELECT publication, version, published_ms, NULL FROM version');
      const history = await readHistoryOf((sql) => database.rows(sql), format);
      const unrecorded = own
        .map(historyOf)
        .filter((one) => history.every((other) => other.version !== one.version));
      return [...history, ...unrecorded];
    } finally {
      database.close();
    }
  } finally {
    file.release();
  }
}

/** The differences from one version to another one, in either order. Releases the files. */
export async function readDifference(from: VersionFile, to: VersionFile): Promise<VersionDifference> {
  try {
    const { database, format } = await openVersion(from, MEMORY_BYTES, { [LATER]: to.path });
    const connection = await database.connect();
    try {
      const ask = async (sql: string) => await runRows(connection, sql);
      const one: ComparedVersion = { format };
      const other: ComparedVersion = { file: LATER, ...(await verifyVersion(ask, to.expected, LATER)) };
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
