/**
 * `npm run pack [-- FOLDER]`: builds the packages for publication, and writes them as tarballs with
 * their SHA-256 digests to the folder (`packages` if none is given).
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from './lock-file.ts';
import { clientManifest, serverManifest, serverShrinkwrap } from './manifests.ts';

const DIGESTS = 'SHA256SUMS';
/** There, npm is a script of the shell. */
const IS_WINDOWS = process.platform === 'win32';

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** The files of the server, with the same relative paths as in the repository. */
function stageServer(folder: string): void {
  const manifest = serverManifest();
  for (const name of manifest.files) {
    if (name === 'npm-shrinkwrap.json' || name === 'README.md') continue;
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  cpSync(join(import.meta.dirname, 'server.md'), join(folder, 'README.md'));
  writeJson(join(folder, 'package.json'), manifest);
  writeJson(join(folder, 'npm-shrinkwrap.json'), serverShrinkwrap());
}

function stageClient(folder: string): void {
  cpSync(join(ROOT, 'dist/client'), join(folder, 'dist'), { recursive: true });
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(join(import.meta.dirname, 'client.md'), join(folder, 'README.md'));
  writeJson(join(folder, 'package.json'), clientManifest());
}

/** Returns the path of the tarball. */
function pack(stage: (folder: string) => void, target: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-pack-'));
  try {
    stage(folder);
    const args = ['pack', '--json', '--pack-destination', target];
    const printed = execFileSync('npm', args, { cwd: folder, shell: IS_WINDOWS });
    const packed: readonly { readonly filename: string }[] = Object.values(JSON.parse(printed.toString()));
    return join(target, packed[0]!.filename);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const target = resolve(process.argv[2] ?? join(ROOT, 'packages'));
mkdirSync(target, { recursive: true });
// Without modules whose source no longer exists.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
execFileSync('npm', ['run', 'build', '--silent'], { cwd: ROOT, stdio: 'inherit', shell: IS_WINDOWS });
const lines = [stageServer, stageClient].map((stage) => {
  const path = pack(stage, target);
  const bytes = readFileSync(path);
  const digest = createHash('sha256').update(bytes).digest('hex');
  return `${digest}  ${path.slice(target.length + 1)}\n`;
});
writeFileSync(join(target, DIGESTS), lines.join(''));
process.stdout.write(lines.join(''));
