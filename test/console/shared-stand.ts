/** One console and one browser for all suites of a process, and API responses for comparison. */
import assert from 'node:assert/strict';
import { type ConsoleStand, openConsole } from './visit.ts';

let shared: ConsoleStand | undefined;

export async function openStand(): Promise<void> {
  shared = await openConsole();
}

export async function closeStand(): Promise<void> {
  await shared?.close();
}

/** Available while tests run. */
export function stand(): ConsoleStand {
  if (shared === undefined) throw new Error('The console is not open.');
  return shared;
}

/** The body of a response for the key of the shared console. */
export async function askBytes(path: string, accept: string): Promise<Buffer> {
  const { url, key } = stand();
  const response = await fetch(url + path, { headers: { apikey: key, accept } });
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

export async function ask(path: string, accept = 'application/json'): Promise<string> {
  return (await askBytes(path, accept)).toString();
}

/** A number in the format of the console. */
export const number = (value: number) => new Intl.NumberFormat('en-GB').format(value);
