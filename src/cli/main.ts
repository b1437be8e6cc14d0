#!/usr/bin/env node
/**
 * Entry point of `corkboard`. Checks the version of Node.js before it loads anything else, because
 * an older version cannot load all modules and would end with a stack trace.
 */
import { refusalOfNode } from './process/node-version.ts';

const refusal = refusalOfNode(process.versions.node);
if (refusal === undefined) {
  const { runProgram } = await import('./program-run.ts');
  await runProgram();
} else {
  process.stderr.write(`corkboard: ${refusal}\n`);
  process.exitCode = 1;
}
