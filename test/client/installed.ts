/**
 * The client as in a program with the package installed: built, in `node_modules`, and nothing
 * else.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const run = promisify(execFile);

/** Returns the folder of the built files. */
export async function installClient(folder: string): Promise<string> {
  const built = join(folder, 'node_modules/corkboard/dist');
  await mkdir(built, { recursive: true });
  await cp(join(ROOT, 'package.json'), join(built, '../package.json'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await run(process.execPath, [TSC, '-p', join(ROOT, 'tsconfig.client.json'), '--outDir', built]);
  return join(built, 'client');
}

/** The compiler's errors about a program in that folder; empty if there are none. */
export async function complaintsAbout(folder: string, file: string, types: '' | 'node'): Promise<string> {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const places = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', types];
  const target = ['--target', 'es2022', '--lib', 'es2022,dom', '--module', 'nodenext'];
  const args = [TSC, ...strict, ...places, ...target, join(folder, file)];
  const { stdout } = await run(process.execPath, args, { cwd: folder }).catch((error) => error);
  return String(stdout);
}
