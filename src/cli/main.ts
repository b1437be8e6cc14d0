#!/usr/bin/env node
/**
 * The program `corkboard`, once the version of Node.js is known to be one that it runs on. Loads
 * everything else only then: an older version cannot load all of it, and would say so with a stack.
 */
import { refusalOfNode } from './process/node-version.ts';

const refusal = refusalOfNode(process.versions.node, process.argv.slice(2));
if (refusal === undefined) {
  const { runProgram } = await import('./program-run.ts');
  await runProgram();
} else {
  process.stderr.write(`corkboard: ${refusal}\n`);
  process.exitCode = 1;
}
