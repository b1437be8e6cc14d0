/**
 * An import as a separate process. It begins, prints a line, and publishes after a line on its
 * standard input. Usage:
 * `node importer.ts <url> <cache> <lease in ms> <organization> <first event> <events>`.
 */
import { once } from 'node:events';
import { AppError } from '../../src/domain/app-error.ts';
import { openCachedStore } from '../storage.ts';
import { manyEvents, stage } from './many-events.ts';

const [url = '', cache = '', leaseMs, organization = '', first, count] = process.argv.slice(2);
const store = await openCachedStore(url, cache, Number(leaseMs));
const publication = await store.beginPublication(organization, { waitMs: 0 });
await stage(publication, manyEvents(Number(first), Number(count)));
process.stdout.write('begun\n');
await once(process.stdin, 'data');
try {
  const { version } = await publication.publish();
  process.stdout.write(`published ${version}\n`);
} catch (error) {
  process.stdout.write(`refused ${error instanceof AppError ? error.code : String(error)}\n`);
}
await publication.discard();
await store.close();
process.exit();
