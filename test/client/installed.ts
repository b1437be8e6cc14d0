/**
 * The client as in a program with the package installed: built, in `node_modules`, and nothing
 * else.
 */
import { execFile } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLIENT_NAME, clientManifest } from '../../release/manifests.ts';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const run = promisify(execFile);

/** Returns the folder of the built files. */
export async function installClient(folder: string): Promise<string> {
  const installed = join(folder, 'node_modules', CLIENT_NAME);
  const output = join(folder, 'built');
  await run(process.execPath, [TSC, '-p', join(ROOT, 'tsconfig.client.json'), '--outDir', output]);
  await cp(join(output, 'client'), join(installed, 'dist'), { recursive: true });
  await writeFile(join(installed, 'package.json'), JSON.stringify(clientManifest()));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return join(installed, 'dist');
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
