/** A question on the terminal, on standard error: standard output is for results. */
import { createInterface } from 'node:readline/promises';

/** The line that is typed; empty if the input ends instead. */
export async function promptFor(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  prompt.once('close', () => resolve(''));
  try {
    return await Promise.race([prompt.question(question), ended]);
  } finally {
    prompt.close();
  }
}

/** Whether the user types yes. `what`: what it does. */
export async function isConfirmed(what: string): Promise<boolean> {
  return (await promptFor(`Type yes to ${what}: `)).trim().toLowerCase() === 'yes';
}
