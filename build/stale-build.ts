/** Builds the checkout unless the last build is newer than all sources. */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = ['src', 'console', 'site', 'docs', 'package.json', 'package-lock.json', ...others()];
/** The last files of the three parts of the build. */
const RESULTS = ['dist/client/client.js', 'dist/console/index.html', 'dist/docs/index.html'];

/** Configurations of the compiler, and documents. */
function others(): readonly string[] {
  return readdirSync(ROOT).filter((name) => /^tsconfig.*\.json$|\.md$/.test(name));
}

/** Returns whether the present sources are built now; otherwise, the reason has been printed. */
export function buildIfStale(): boolean {
  if (!isStale(ROOT)) return true;
  const npm = process.env['npm_execpath'];
  if (npm === undefined) {
    process.stderr.write('corkboard: The build is out of date. Run "npm run build" first.\n');
    return false;
  }
  process.stderr.write('Building.\n');
  // Standard output is for the command.
  const { status } = spawnSync(process.execPath, [npm, 'run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
  });
  return status === 0;
}

/** Whether the build in a checkout is missing, or a source is newer, or was added or removed. */
export function isStale(root: string): boolean {
  const built = Math.min(...RESULTS.map((path) => modifiedMs(join(root, path))));
  return SOURCES.some((path) => newestMs(join(root, path)) > built);
}

function newestMs(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return stats?.mtimeMs ?? 0;
  // The time of a folder changes when an entry is added or removed.
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

function modifiedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
