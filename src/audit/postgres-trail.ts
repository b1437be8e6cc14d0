/**
 * The records of administration of a PostgreSQL database: a table, and one row with their head. One
 * transaction changes both, and concurrent ones wait for the row of the head.
 */
import type { PostgresDatabase, Session } from '../store/catalog/postgres-database.ts';
import { type AuditHead, CHAIN_START, chainRecord } from './audit-record.ts';
import type { AuditEntry, AuditTrail, StoredLine } from './audit-trail.ts';

/** Rows that are read at once. */
const MOST_ROWS = 500;
const SELECT_HEAD = 'SELECT sequence, digest FROM audit_head';

/** Takes ownership of a database that has been migrated. */
export function openPostgresTrail(database: PostgresDatabase): AuditTrail {
  return new PostgresTrail(database);
}

class PostgresTrail implements AuditTrail {
  readonly mostAfterHead = 0;
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async append(entry: AuditEntry): Promise<void> {
    await this.#database.transact(async (transaction) => {
      const before = (await readHead(transaction, `${SELECT_HEAD} FOR UPDATE`)) ?? CHAIN_START;
      const [row] = await transaction.rows('SELECT FROM audit LIMIT 1');
      const missing = row !== undefined || before.sequence === 0 ? undefined : before.sequence;
      const { line, head } = chainRecord({ ...entry, missing }, before);
      await transaction.rows('INSERT INTO audit VALUES ($1, $2)', [BigInt(head.sequence), line]);
      const update = 'UPDATE audit_head SET sequence = $1, digest = $2';
      await transaction.rows(update, [BigInt(head.sequence), head.digest]);
    });
  }

  async head(): Promise<AuditHead | undefined> {
    return await readHead(this.#database, SELECT_HEAD);
  }

  async *lines(): AsyncGenerator<StoredLine> {
    const select = 'SELECT sequence, record FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2';
    for (let last = 0; ; ) {
      const rows = await this.#database.rows(select, [BigInt(last), MOST_ROWS]);
      for (const [sequence, record] of rows) {
        last = Number(sequence);
        const place = `table audit, row ${last}`;
        yield { text: String(record), place, isComplete: true, sequence: last };
      }
      if (rows.length < MOST_ROWS) return;
    }
  }

  async close(): Promise<void> {
    await this.#database.close();
  }
}

async function readHead(session: Session, sql: string): Promise<AuditHead | undefined> {
  const [row] = await session.rows(sql);
  return row && { sequence: Number(row[0]), digest: String(row[1]) };
}
