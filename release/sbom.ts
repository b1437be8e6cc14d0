/**
 * The software bill of materials of a release, in the format CycloneDX: every package that the
 * product installs, with its digest. `node release/sbom.ts > sbom.json` writes it.
 */
import { spawnSync } from 'node:child_process';
import { licencesOf } from './licences.ts';
import { ROOT, readLockFile } from './lock-file.ts';

// `--omit dev` would also leave out packages that both the product and a tool require.
const WORDS = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];

interface Part {
  readonly 'bom-ref': string;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

/** Throws if npm fails. */
export function makeSbom(): string {
  const { status, stdout, stderr } = spawnSync('npm', WORDS, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
  const document = JSON.parse(stdout);
  // npm names the product after the folder of the checkout.
  const { component } = document.metadata;
  component.name = component['bom-ref'].replace(/@[^@]*$/, '');
  component.type = 'application';
  const installed = new Set(licencesOf(readLockFile()).map(({ name, version }) => `${name}@${version}`));
  document.components = document.components.filter((part: Part) => installed.has(part['bom-ref']));
  document.dependencies = document.dependencies
    .filter(({ ref }: Dependency) => installed.has(ref) || ref === component['bom-ref'])
    .map(({ ref, dependsOn = [] }: Dependency) => ({
      ref,
      dependsOn: dependsOn.filter((other) => installed.has(other)),
    }));
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

if (import.meta.main) process.stdout.write(makeSbom());
