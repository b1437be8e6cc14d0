/**
 * The packages as a stranger gets them: packed, judged by linters of packages, installed into empty
 * folders with nothing else, and used with each Node.js that they promise to run on.
 */
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT_NAME, SERVER_NAME } from '../release/manifests.ts';
import type { Report } from './report.ts';
import { type Outcome, programOf, runProgram, runTool, startTool } from './tool.ts';

const ROOT = join(import.meta.dirname, '..');
const MAIN = `node_modules/${SERVER_NAME}/dist/cli/main.js`;
const INSTALL = ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];
/** Major versions of Node.js; the first one is that of the checkout. */
const SERVER_NODES = ['24', '26'];
const CLIENT_NODES = ['20', '24', '26'];
const BUNDLE = `node_modules/${SERVER_NAME}/demo`;

/** A program of a stranger: it prints the titles of the boards, and the number of events. */
const CLIENT_PROGRAM = `
import { openClient } from '${CLIENT_NAME}';
const [baseUrl, key] = process.argv.slice(2);
const client = openClient({ baseUrl, key, variant: 'a' });
let boards = 0;
for await (const board of client.boards()) boards += board.title === '' ? 0 : 1;
let events = 0;
for await (const event of client.events({ pageSize: 10_000 })) events += event.actor.id === '' ? 0 : 1;
console.log(JSON.stringify({ boards, events }));
`;

export async function checkPackages(folder: string, report: Report): Promise<void> {
  const packed = join(folder, 'packed');
  const { code, output } = await runTool([join(ROOT, 'release/pack.ts'), packed], ROOT);
  if (code !== 0) return report.fail('Packages: packing', output);
  const files = (await readdir(packed)).filter((name) => name.endsWith('.tgz'));
  const tarballOf = (name: string) => join(packed, files.find((file) => file.startsWith(`${name}-`)) ?? name);
  for (const name of [SERVER_NAME, CLIENT_NAME]) await lintPackage(name, tarballOf(name), report);
  const installed = join(folder, 'installed');
  if (!(await install(installed, [tarballOf(SERVER_NAME)], report))) return;
  const client = join(folder, 'client');
  if (!(await install(client, [tarballOf(CLIENT_NAME)], report))) return;
  await writeFile(join(client, 'program.mjs'), CLIENT_PROGRAM);
  const nodes = await nodesOf([...new Set([...SERVER_NODES, ...CLIENT_NODES])], folder, report);
  for (const major of SERVER_NODES) {
    const node = nodes.get(major);
    if (node !== undefined) await useServer(node, major, installed, client, nodes, report);
  }
}

async function lintPackage(name: string, tarball: string, report: Report): Promise<void> {
  const checks = {
    publint: [programOf('publint'), tarball, '--strict'],
    'Are the types wrong?': [programOf('attw'), tarball, '--profile', 'esm-only', '--no-color'],
  };
  for (const [title, command] of Object.entries(checks)) {
    judge(await runTool(command, ROOT), `Packages: ${title} about ${name}`, report);
  }
}

function judge({ code, output }: Outcome, name: string, report: Report): boolean {
  if (code === 0) report.pass(name);
  else report.fail(name, `exit code ${code}\n${output}`);
  return code === 0;
}

/** Installs into a new folder with nothing else. */
async function install(folder: string, packages: readonly string[], report: Report): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const outcome = await runProgram([...INSTALL, ...packages], folder);
  return judge(outcome, `Packages: npm install ${packages.map((path) => path.split('/').at(-1))}`, report);
}

/** The programs of Node.js by major version; those of the registry, except for the running one. */
async function nodesOf(
  majors: readonly string[],
  folder: string,
  report: Report,
): Promise<ReadonlyMap<string, string>> {
  const nodes = new Map<string, string>();
  for (const major of majors) {
    if (process.versions.node.startsWith(`${major}.`)) {
      nodes.set(major, process.execPath);
      continue;
    }
    const place = join(folder, `node-${major}`);
    if (await install(place, [`node@${major}`], report))
      nodes.set(major, join(place, 'node_modules/node/bin/node'));
  }
  return nodes;
}

/** Runs the commands of a first day, then a client of each Node.js against the demo. */
async function useServer(
  node: string,
  major: string,
  installed: string,
  client: string,
  nodes: ReadonlyMap<string, string>,
  report: Report,
): Promise<void> {
  const folder = join(installed, `on-${major}`);
  await mkdir(folder);
  const words = (...args: string[]) => [node, join(installed, MAIN), ...args, '--data', join(folder, 'data')];
  const backup = join(folder, 'backup');
  const bundle = join(folder, 'bundle');
  await cp(join(installed, BUNDLE), bundle, { recursive: true });
  const steps = [
    ['import', bundle, '--organization=school'],
    ['keys', 'create', '--organization=school'],
    ['organizations', 'list'],
    ['check'],
    ['backup', backup],
    ['check', '--backup', backup],
    ['restore', backup, '--organization=school', '--replace'],
  ];
  for (const step of steps) {
    const outcome = await runProgram(words(...step), folder);
    const name = step.filter((word) => /^[a-z]+$/.test(word)).join(' ');
    if (!judge(outcome, `Packages: corkboard ${name} on Node.js ${major}`, report)) return;
  }
  const announcement = /Variant A: (\S+)\n[\s\S]*Key: +(\S+)\n/;
  const start = performance.now();
  const [program, ...args] = words('demo', '--port', '0');
  const { announced, stop } = await startTool(args, folder, announcement, program);
  report.note(
    `corkboard demo on Node.js ${major} is ready after ${Math.round(performance.now() - start)} ms.`,
  );
  try {
    const [, baseUrl = '', key = ''] = announced;
    for (const each of CLIENT_NODES) {
      const clientNode = nodes.get(each);
      if (clientNode === undefined) continue;
      const outcome = await runProgram([clientNode, 'program.mjs', baseUrl, key], client);
      const isRight =
        outcome.code === 0 && /^\{"boards":[1-9]\d*,"events":[1-9]\d*\}\n$/.test(outcome.output);
      const name = `Packages: client on Node.js ${each}, server on ${major}`;
      judge(isRight ? outcome : { ...outcome, code: outcome.code || 1 }, name, report);
    }
  } finally {
    await stop();
  }
}
