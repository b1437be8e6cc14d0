/**
 * Scripts and styles of the pages, bundled. The result is kept in `node_modules/.cache` until its
 * sources or a package change.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import scalar from '@scalar/fastify-api-reference';
import { fastify } from 'fastify';
import { build, type Manifest } from 'vite';
import { checkBudget } from '../../console/build/budget.ts';
import type { Entry } from './frame.ts';
import type { Bundle } from './pages.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const CACHE = join(REPOSITORY, 'node_modules/.cache/corkboard-site');
const MANIFEST = 'manifest.json';
/** With a digest, as files that never change have. */
const COMPONENTS = 'assets/scalar-*.js';
const DIGEST_CHARACTERS = 16;

const ENTRIES = {
  page: 'site/browser/page.ts',
  search: 'site/browser/search.ts',
  reference: 'site/reference/main.ts',
} as const;

/** What the result depends on. */
const SOURCES = [
  'site/browser/*',
  'site/reference/*',
  'site/build/bundle.ts',
  'console/src/style/colors.css',
  'console/src/view/chosen-theme.ts',
  'package-lock.json',
];

/** For the first view, compressed, in bytes. The rest is loaded when it is used. */
const BUDGETS = { page: 10_000, search: 20_000, reference: 1_300_000 } as const;

export interface BundleFolder {
  readonly bundle: Bundle;
  /** Contains `assets/`, and `licenses.md` with the notices of the libraries. */
  readonly folder: string;
}

/** Throws if an entry is larger than allowed. */
export async function makeBundle(): Promise<BundleFolder> {
  const folder = join(CACHE, digestOfSources());
  if (!existsSync(join(folder, MANIFEST))) await bundleInto(folder);
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'));
  const { page, search, reference } = ENTRIES;
  const bundle = {
    page: entryOf(manifest, page),
    search: entryOf(manifest, search),
    reference: { ...entryOf(manifest, reference), component: globSync(COMPONENTS, { cwd: folder })[0] ?? '' },
  };
  for (const [name, mostBytes] of Object.entries(BUDGETS)) {
    const { script, component, imports, styles }: Entry = bundle[name as keyof Bundle];
    checkBudget(
      `The ${name} of the documents`,
      [script, ...(component === undefined ? [] : [component]), ...imports, ...styles].map((path) =>
        join(folder, path),
      ),
      mostBytes,
    );
  }
  return { bundle, folder };
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: REPOSITORY }).sort());
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(REPOSITORY, file)));
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS);
}

async function bundleInto(outDir: string): Promise<void> {
  await build({
    ...{ root: REPOSITORY, configFile: false, base: './', logLevel: 'error', publicDir: false },
    build: {
      ...{ outDir, emptyOutDir: true, target: 'es2023', assetsInlineLimit: 0 },
      ...{ modulePreload: { polyfill: false }, reportCompressedSize: false, manifest: MANIFEST },
      license: { fileName: 'licenses.md' },
      rolldownOptions: { input: Object.values(ENTRIES).map((path) => join(REPOSITORY, path)) },
    },
  });
  await addComponent(outDir);
}

/**
 * Adds the script of the component, which its package has inside a plugin. The packages from which
 * the component is made would be ten times as many.
 */
async function addComponent(outDir: string): Promise<void> {
  const app = fastify();
  await app.register(scalar, { routePrefix: '/', configuration: { content: {} } });
  const { statusCode, rawPayload } = await app.inject('/js/scalar.js');
  await app.close();
  if (statusCode !== 200) throw new Error(`The component responds with status ${statusCode}.`);
  const digest = createHash('sha256').update(rawPayload).digest('hex').slice(0, DIGEST_CHARACTERS);
  writeFileSync(join(outDir, COMPONENTS.replace('*', digest)), rawPayload);
  const main = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
  const license = readFileSync(join(dirname(main), '../LICENSE'), 'utf8');
  appendFileSync(join(outDir, 'licenses.md'), `\n## @scalar/fastify-api-reference (MIT)\n\n${license}\n`);
}

function entryOf(manifest: Manifest, source: string): Entry {
  const imports = new Set<string>();
  const styles = new Set<string>();
  const add = (name: string) => {
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`The bundle lacks ${name}.`);
    for (const style of chunk.css ?? []) styles.add(style);
    for (const imported of chunk.imports ?? []) {
      const { file } = manifest[imported] ?? { file: '' };
      if (imports.has(file)) continue;
      imports.add(file);
      add(imported);
    }
    return chunk.file;
  };
  const script = add(source);
  return { script, imports: [...imports], styles: [...styles] };
}
