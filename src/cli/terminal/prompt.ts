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
