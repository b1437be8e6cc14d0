/**
 * The process in which cases run: it receives one order by message, reports complaints and finally
 * its figures, and ends.
 */
import { type RunnerMessage, type RunnerOrder, runCases } from './runner.ts';

process.once('disconnect', () => process.exit());
process.on('message', (order: RunnerOrder) => {
  runCases(order, send).then(
    (ended) => send({ ended }),
    (error: Error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});

function send(message: RunnerMessage): void {
  const isLast = 'ended' in message || 'lost' in message;
  process.send?.(message, undefined, undefined, () => isLast && process.exit());
}
