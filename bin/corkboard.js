#!/usr/bin/env node
// The command `corkboard`. A checkout has it before the first build, and then it says what to do.
// It is JavaScript, so that any version of Node.js can run it.
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('corkboard: This checkout has not been built. Run "npm ci" in it first.\n');
  process.exitCode = 1;
}
