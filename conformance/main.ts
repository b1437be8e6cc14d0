/**
 * `npm run conformance`: compares the running product with its own OpenAPI documents, using
 * independent tools. Exit code 0 if nothing failed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runContractTests } from './contract-tests.ts';
import { checkGeneratedClients } from './generated-clients.ts';
import { lintDocuments } from './linters.ts';
import { checkPackages } from './packages.ts';
import { readTargets, startProduct } from './product.ts';
import { checkThroughProxy } from './proxy.ts';
import { openReport } from './report.ts';

if (!existsSync(join(import.meta.dirname, 'node_modules'))) {
  execFileSync('npm', ['ci'], { cwd: import.meta.dirname, stdio: 'inherit' });
}

const report = openReport((line) => process.stdout.write(`${line}\n`));
const folder = await mkdtemp(join(tmpdir(), 'corkboard-conformance-'));
try {
  await checkPackages(folder, report);
  const product = await startProduct(folder);
  try {
    const targets = await readTargets(product, folder);
    await lintDocuments(targets, folder, report);
    await checkGeneratedClients(targets, folder, report);
    for (const target of targets) await checkThroughProxy(target, folder, report);
    for (const target of targets) await runContractTests(target, folder, report);
  } finally {
    await product.stop();
  }
} finally {
  await rm(folder, { recursive: true });
}
process.exitCode = report.close() ? 0 : 1;
