/** The contract of places for chunks, run over the table. */
import { after } from 'node:test';
import type { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openChunkTable } from '../../src/store/chunks/postgres-table.ts';
import { newMigratedDatabase, openPatiently } from '../storage.ts';
import { describeChunkPlace } from './chunk-place-contract.ts';

let opened: PostgresDatabase | undefined;
after(() => opened?.close());

describeChunkPlace('in a table of PostgreSQL', async () => {
  opened ??= openPatiently(await newMigratedDatabase());
  return openChunkTable(opened);
});
