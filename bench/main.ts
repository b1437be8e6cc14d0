/**
 * `npm run bench`: compares the product with servers that send the same bytes from files, and with
 * comparable servers.
 */
import { readFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openLoadClient } from './load.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { renderPlot } from './plot.ts';
import { run } from './processes.ts';
import { Report, renderCircumstances } from './report.ts';
import { runScenarios } from './run.ts';
import { writeFigures } from './scaling/figures.ts';
import { runNeighbours } from './scenarios/neighbours.ts';
import { runOrganizations } from './scenarios/organizations.ts';
import { runShared } from './scenarios/shared.ts';
import { runSoak } from './soak/soak.ts';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(import.meta.dirname, 'results.md');
const NEIGHBOURS = join(import.meta.dirname, 'neighbours.md');
const PLOT = join(ROOT, 'bench/speed.svg');
/**
 * Size of the response cache of a process. The different requests of a run add up to several times
 * the caches of all processes.
 */
const CACHE_BYTES = 32 * 1024 * 1024;

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(HELP);
  else await main(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(options: Options): Promise<void> {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  const { signal } = controller;
  const report = new Report((line) => process.stderr.write(`${line}\n`));
  if (options.build) await run('npm', ['run', 'build', '--silent'], { cwd: ROOT, signal });
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-bench-'));
  try {
    if (options.soak) await runSoak({ minutes: options.minutes, folder, signal, report });
    else if (options.organizations !== undefined) await crowd(options, folder, report, signal);
    else if (options.shared) await share(options, folder, report, signal);
    else if (options.neighbours) await attack(options, folder, report, signal);
    else await measure(options, folder, report, signal);
    if (report.failed) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(options: Options, folder: string, report: Report, signal: AbortSignal): Promise<void> {
  await using client = openLoadClient(folder, signal);
  const circumstances = renderCircumstances(readVersion(), client.title);
  const plan = {
    ...{
      signal,
      report,
      client,
      events: options.events,
      rounds: options.rounds,
      quick: options.quick,
      seconds: 1,
    },
    differentBytes: options.quick ? 2e6 : Math.max(256e6, 4 * CACHE_BYTES * availableParallelism()),
    cachedBytes: CACHE_BYTES * availableParallelism(),
    against: options.against === undefined ? undefined : { folder: resolve(options.against) },
    keep: options.keep === undefined ? undefined : resolve(options.keep),
    chosen: (name: string) => isChosen(options, name),
  };
  const startMs = performance.now();
  await runScenarios(plan, folder);
  const minutes = ((performance.now() - startMs) / 60_000).toFixed(0);
  const about = `- medians of ${options.rounds} rounds (of small requests at most 3 beyond 3 M events), taken in turn; "to": how often corkboard is as fast; ${minutes} minutes`;
  const text = `# Results\n${circumstances.trimEnd()}\n${about}\n\n${options.quick ? 'Quick: shows that all works, not how fast.\n\n' : ''}${report.render()}`;
  process.stdout.write(`\n${text}`);
  if (options.append) await appendFile(RESULTS, `\n${asSection(text, options)}`);
  if (options.quick || options.only.length > 0 || options.against !== undefined) return;
  await writeFile(RESULTS, text);
  writeFigures({ events: options.events, values: report.figures() });
  await writeFile(PLOT, renderPlot(report, options.events));
}

/** The results of a partial run, to stand behind those of the last full one. */
function asSection(text: string, { only, against }: Options): string {
  const names = new Set(against === undefined ? only : ['against', ...only]);
  const title = `## A later run: ${[...names].join(', ')}`;
  return text.replaceAll(/^## /gm, '### ').replace('# Results', title);
}

function isChosen(options: Options, name: string): boolean {
  if (name === 'peers' || name === 'stores' || name === 'sync' || name === 'blocking') return options[name];
  // With --against, other scenarios run only if they are named.
  const all = options.only.length === 0 && options.against === undefined;
  if (name === 'against')
    return options.against !== undefined && (options.only.length === 0 || options.only.includes(name));
  return all || options.only.includes(name);
}

async function share(options: Options, folder: string, report: Report, signal: AbortSignal): Promise<void> {
  const { minutes, quick } = options;
  await runShared({ minutes, quick, folder, signal, report });
  process.stdout.write(`\n${renderCircumstances(readVersion(), 'fetch')}\n${report.render()}`);
}

async function crowd(options: Options, folder: string, report: Report, signal: AbortSignal): Promise<void> {
  const { organizations = 0, minutes } = options;
  const events = Math.min(...options.events);
  await runOrganizations({ organizations, events, minutes, folder, signal, report });
  process.stdout.write(
    `\n${renderCircumstances(readVersion(), 'connections of its own')}\n${report.render()}`,
  );
}

async function attack(options: Options, folder: string, report: Report, signal: AbortSignal): Promise<void> {
  const { quick, workers, events } = options;
  const circumstances = renderCircumstances(readVersion(), 'clients of its own');
  await runNeighbours({ quick, workers, events: Math.min(...events), folder, signal, report });
  const text = `# Neighbours\n${circumstances}- processes of the server: ${workers}\n\n${report.render()}`;
  process.stdout.write(`\n${text}`);
  if (!quick && workers === 1) await writeFile(NEIGHBOURS, text);
}

function readVersion(): string {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
}
