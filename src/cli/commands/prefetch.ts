/** `corkboard prefetch`: fetches versions into the local cache, so that a server starts fast. */
import type { Command } from 'commander';
import { AppError } from '../../domain/app-error.ts';
import type { Prefetched } from '../../store/files/version-store.ts';
import { openStore, type StorageOptions } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { readName } from '../terminal/options.ts';
import { type JsonOption, printResult, remark, renderTable } from '../terminal/output.ts';

interface PrefetchOptions extends StorageOptions, JsonOption {
  readonly organization?: readonly string[];
}

export function addPrefetchCommand(program: Command): void {
  const prefetch = program
    .command('prefetch')
    .summary('Fetch the current versions into the local cache.')
    .description(
      'Fetch the current versions from the database into the local cache, and verify those already there. Run this command on a new machine before its server starts.',
    )
    .option('-o, --organization <name>', 'only this organization; can be repeated (default: all)', readName)
    .option('--json', 'print a JSON array')
    .action((_options: unknown, command: Command) => prefetchVersions(command.optsWithGlobals()));
  addExamples(prefetch, [
    'corkboard prefetch --database postgres://corkboard@db.example.org/corkboard',
    'corkboard prefetch --organization school --cache /var/cache/corkboard --json',
  ]);
}

async function prefetchVersions(options: PrefetchOptions): Promise<void> {
  if (!options.database) {
    throw new AppError(
      'option-malformed',
      'Name the database with --database or CORKBOARD_DATABASE; a data folder needs no cache.',
    );
  }
  const store = await openStore(options);
  try {
    const names = options.organization ?? (await store.organizations()).map(({ name }) => name);
    const fetched: Prefetched[] = [];
    for (const name of names) {
      remark(`Fetching ${name}.`);
      try {
        fetched.push(await store.prefetch(name));
      } catch (error) {
        // Damage to one organization does not keep the others from being served.
        if (!(error instanceof AppError) || error.code !== 'data-unreadable') throw error;
        remark(`corkboard: ${name} was not fetched. ${error.message}`);
        process.exitCode = 1;
      }
    }
    printResult(options, fetched, () => renderFetched(fetched));
  } finally {
    await store.close();
  }
}

function renderFetched(fetched: readonly Prefetched[]): string {
  if (fetched.length === 0) return 'There are no organizations to fetch.';
  const rows = fetched.map(({ organization, version, bytes }) => [
    ...[organization, version ?? 'no data yet', bytes],
  ]);
  return renderTable(['NAME', 'VERSION', 'BYTES'], rows);
}
