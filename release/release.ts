/**
 * `node release/release.ts VERSION [--yes]`: makes a release. Without `--yes` it only says what it
 * would do. With it, it changes the version wherever it is written, moves the changes under
 * "Unreleased" in the changelog to the new version, commits, tags, and writes the packages, their
 * digests and the bill of materials to `packages/`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './lock-file.ts';

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const UNRELEASED = '## [Unreleased]\n';

/** Files in which the version is written, from the root of the repository. */
function filesOf(root: string): readonly string[] {
  const documents = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && name !== 'decisions.md')
    .map((name) => `docs/${name.replaceAll('\\', '/')}`);
  const overlays = globSync('deploy/kubernetes/*/kustomization.yaml', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
  return ['README.md', 'package.json', ...documents.sort(), ...overlays];
}

/** Whether `version` is later than `earlier`. Throws if one of them is not like `1.2.3`. */
export function isLater(version: string, earlier: string): boolean {
  const [one, other] = [version, earlier].map((text) => {
    const match = VERSION.exec(text);
    if (match === null) throw new Error(`${text} is not a version like 1.2.3.`);
    return match.slice(1).map(Number);
  });
  const place = one!.findIndex((part, index) => part !== other![index]);
  return place >= 0 && one![place]! > other![place]!;
}

/** The changelog with the unreleased changes under the version. Throws if there are none. */
export function releaseChangelog(text: string, version: string, date: string): string {
  const start = text.indexOf(UNRELEASED);
  const next = text.indexOf('\n## [', start + UNRELEASED.length);
  const changes = text.slice(start + UNRELEASED.length, next < 0 ? undefined : next);
  if (start < 0 || changes.trim() === '') throw new Error('The changelog has no unreleased changes.');
  return text.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${date}\n`);
}

/** The text with one version in place of the other, where it is a whole word. */
export function replaceVersion(text: string, earlier: string, version: string): string {
  const escaped = earlier.replaceAll('.', '\\.');
  return text.replace(new RegExp(`(?<![\\d.])${escaped}(?![\\d]|\\.\\d)`, 'g'), version);
}

/** The changed files of a release, by path. */
export function changedFiles(root: string, version: string, date: string): ReadonlyMap<string, string> {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const { version: earlier }: { version: string } = JSON.parse(read('package.json'));
  if (!isLater(version, earlier)) throw new Error(`${version} is not later than ${earlier}.`);
  const changed = new Map<string, string>();
  for (const path of filesOf(root)) {
    const text = replaceVersion(read(path), earlier, version);
    if (text !== read(path)) changed.set(path, text);
  }
  changed.set('CHANGELOG.md', releaseChangelog(read('CHANGELOG.md'), version, date));
  const lock = JSON.parse(read('package-lock.json'));
  lock.version = version;
  lock.packages[''].version = version;
  changed.set('package-lock.json', `${JSON.stringify(lock, undefined, 2)}\n`);
  return changed;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

function release(version: string, isReal: boolean): void {
  if (git('status', '--porcelain') !== '') throw new Error('Commit or remove the changes in the tree first.');
  const changed = changedFiles(ROOT, version, new Date().toISOString().slice(0, 10));
  const steps = [...changed.keys()].map((path) => `change ${path}`);
  steps.push(`commit "Release ${version}", tag v${version}, write packages/`);
  process.stdout.write(steps.map((step) => `${isReal ? '' : 'would '}${step}\n`).join(''));
  if (!isReal) return;
  for (const [path, text] of changed) writeFileSync(join(ROOT, path), text);
  // First, so that nothing is committed if one of them fails.
  const run = (...words: readonly string[]) => execFileSync(process.execPath, words, { cwd: ROOT });
  process.stdout.write(run('release/pack.ts'));
  const sbom = run('release/sbom.ts');
  writeFileSync(join(ROOT, 'packages/sbom.json'), sbom);
  const digest = createHash('sha256').update(sbom).digest('hex');
  appendFileSync(join(ROOT, 'packages/SHA256SUMS'), `${digest}  sbom.json\n`);
  git('commit', '--all', '--message', `Release ${version}`, '--message', 'The changelog says what is new.');
  git('tag', `v${version}`);
}

if (import.meta.main) {
  const [version, option] = process.argv.slice(2);
  if (version === undefined || (option !== undefined && option !== '--yes')) {
    process.stderr.write('usage: node release/release.ts VERSION [--yes]\n');
    process.exitCode = 2;
  } else {
    try {
      release(version, option === '--yes');
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
      process.exitCode = 1;
    }
  }
}
