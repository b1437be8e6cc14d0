/** Builds the console into `dist/console`, where the server finds it, and says what it weighs. */
import { join } from 'node:path';
import { build } from 'vite';
import { checkBudget } from './budget.ts';

const ROOT = join(import.meta.dirname, '..');
const OUTPUT = join(ROOT, '../dist/console');

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
        // React's note to servers that render; here all runs in the browser.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') defaultHandler(level, log);
      },
    },
  },
});
checkBudget(join(OUTPUT, 'assets'));
