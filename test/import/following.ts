/** `corkboard import --follow` as a separate process, with its input and its results. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { run, runJson, start } from '../cli/command.ts';
import { writeSmallBundle } from '../cli/small-bundle.ts';

/** The report of one publication. */
export interface Told {
  readonly outcome: string;
  readonly lines: number;
  readonly bytes: number;
  readonly file: string;
  readonly eventsAdded: number;
  readonly rejected: number;
}

export interface Following {
  readonly child: ChildProcess;
  /** All reports so far. */
  readonly told: Told[];
  /** Resolves once there are `count` reports. */
  untilTold(count: number): Promise<void>;
  /** The exit code or signal, with the text on standard error. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>;
}

const argumentsOf = (path: string, words: readonly string[]) => {
  return ['import', path, '--follow', '--every', '0.1', '--json', ...words];
};

/** Follows in this process, for an input that ends or that is refused. */
export async function followedToEnd(path: string, words: readonly string[], input = '') {
  const { code, stdout, stderr } = await run(argumentsOf(path, words), { input });
  const told: readonly Told[] = (stdout.match(/.+/g) ?? []).map((line) => JSON.parse(line));
  return { code, stderr, told };
}

export function following(path: string, words: readonly string[]): Following {
  const child = start(argumentsOf(path, words));
  const told: Told[] = [];
  let wake = Promise.withResolvers<void>();
  const lines = createInterface({ input: child.stdout! });
  lines.on('line', (line) => {
    told.push(JSON.parse(line));
    wake.resolve();
    wake = Promise.withResolvers();
  });
  // Ignores write errors after the process was killed.
  child.stdin?.on('error', () => {});
  const said = text(child.stderr!);
  const end = async () => {
    await once(child, 'close');
    wake.resolve();
    return { code: child.exitCode, signal: child.signalCode, stderr: await said };
  };
  const ended = end();
  const untilTold = async (count: number) => {
    while (told.length < count) {
      await wake.promise;
      if (told.length < count && (child.exitCode ?? child.signalCode) !== null)
        throw new Error(`it ended: ${(await ended).stderr}`);
    }
  };
  return { child, told, untilTold, ended };
}

/** An event like those of the small bundle, with an id and its own time. */
export function eventLine(number: number): string {
  const timestamp = new Date(Date.UTC(2025, 0, 1) + number * 1000).toISOString();
  const about = { owner_id: 1, actor_id: 1 + (number % 3), board_id: 7, pin_id: 70 };
  return `${JSON.stringify({ id: 1000 + number, type: 'pin', action: 'visited', ...about, timestamp })}\n`;
}

/** Creates an organization with the users of the small bundle; returns the options that name it. */
export async function prepare(folder: string, organization: string): Promise<readonly string[]> {
  const into = ['--organization', organization, '--data', join(folder, 'data')];
  const bundle = writeSmallBundle(join(folder, `bundle-${organization}`));
  await runJson(['import', bundle, ...into]);
  return into;
}

/** Options that name a copy of a prepared organization, in a data folder of its own. */
export function copyPrepared(prepared: readonly string[], folder: string, name: string): readonly string[] {
  const data = join(folder, `data-${name}`);
  cpSync(prepared.at(-1)!, data, { recursive: true });
  return [...prepared.slice(0, -1), data];
}

export async function countEvents(into: readonly string[]): Promise<number> {
  const [, organization = '', ...data] = into;
  return (await runJson(['organizations', 'show', organization, ...data])).events;
}

/** The events that have an id, as in an export: shows their order, and how often each occurs. */
export async function eventsOf(folder: string, into: readonly string[]): Promise<readonly string[]> {
  const out = join(folder, 'out');
  await runJson(['export', out, ...into, '--format', 'csv']);
  const lines = readFileSync(join(out, 'events.csv'), 'utf8').split('\r\n');
  rmSync(out, { recursive: true });
  return lines.filter((line) => /^\d/.test(line));
}
