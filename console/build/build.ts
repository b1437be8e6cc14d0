/** Builds the console into `dist/console`, where the server finds it, and prints its size. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { checkBudget } from './budget.ts';

const ROOT = join(import.meta.dirname, '..');
const OUTPUT = join(ROOT, '../dist/console');
const BUDGET_BYTES = 350_000;

await build({
  root: ROOT,
  configFile: false,
  base: '/console/',
  logLevel: 'warn',
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      onLog(level, log, defaultHandler) {
        // Directives of React are for rendering on a server; all code here runs in the browser.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') defaultHandler(level, log);
      },
    },
  },
});
checkBudget('The console', globSync(join(OUTPUT, 'assets/*.{js,css}')), BUDGET_BYTES);
