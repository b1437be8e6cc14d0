/**
 * Runs a command line like `corkboard`. With `KILL_BEFORE=n` the process is killed before the nth
 * step that changes something: a call of the file system, or a statement of a database. If it ends
 * before, it tells on standard error how many steps there were.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';

const fatal = Number(process.env['KILL_BEFORE']);
const CHANGE = /^\s*(INSERT|UPDATE|DELETE|COMMIT|VACUUM|PRAGMA wal_checkpoint)/;
let steps = 0;

function countStep(): void {
  steps += 1;
  if (steps === fatal) process.kill(process.pid, 'SIGKILL');
}

for (const name of ['link', 'mkdir', 'rename', 'rm', 'unlink'] as const) {
  const original = fs.promises[name] as (...values: unknown[]) => unknown;
  Object.assign(fs.promises, {
    [name]: (...values: unknown[]) => {
      countStep();
      return original(...values);
    },
  });
}
syncBuiltinESMExports();

const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function (sql) {
  if (CHANGE.test(sql)) countStep();
  exec.call(this, sql);
};
for (const name of ['all', 'run'] as const) {
  const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
  Object.assign(StatementSync.prototype, {
    [name](this: StatementSync, ...values: unknown[]) {
      if (CHANGE.test(this.sourceSQL)) countStep();
      return original.apply(this, values);
    },
  });
}
const query = pg.Client.prototype.query as (...values: unknown[]) => unknown;
Object.assign(pg.Client.prototype, {
  query(this: unknown, ...values: [{ readonly text?: string } | string, ...unknown[]]) {
    const [statement] = values;
    if (CHANGE.test(typeof statement === 'string' ? statement : (statement.text ?? ''))) countStep();
    return query.apply(this, values);
  },
});

const { runProgram } = await import('../../src/cli/program-run.ts');
await runProgram();
process.stderr.write(`steps: ${steps}\n`);
