/**
 * Runs a program like `corkboard` once, with the arguments of the command line. Prints an expected
 * error as one sentence, and any other error with its stack, because it is a bug.
 */
import { type Command, CommanderError } from 'commander';
import { AppError } from '../domain/app-error.ts';
import { fullDiskError } from './process/full-disk.ts';
import { isMemoryShortage } from './process/memory-shortage.ts';
import { buildProgram } from './program.ts';
import { refuseLostValues } from './terminal/options.ts';
import { concealSecrets, remark } from './terminal/output.ts';
import { chooseVariables } from './terminal/setting.ts';

const REFUSED = 1;
const MISUSED = 2;
const MEMORY_SHORTAGE =
  'There is not enough memory. Nothing was changed. If the command imports or changes data, allow more with --build-memory (CORKBOARD_BUILD_MEMORY), like 4GB; otherwise use a machine with more memory.';

/** `words`: the arguments after the script. */
export type BuildProgram = (words: readonly string[]) => Command | Promise<Command>;

/**
 * Returns when the command has ended, and sets the exit code: 0 done, 1 refused or failed, 2
 * misuse.
 */
export async function runProgram(build: BuildProgram = buildProgram): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe (`corkboard keys list | head -1`).
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
  // A log that cannot be written must not end a server.
  process.stderr.on('error', () => {});
  // The process list shows the arguments of a command to every user of the machine.
  const words = process.argv.join(' ');
  if (concealSecrets(words) !== words) process.title = concealSecrets(words);
  try {
    const program = await build(process.argv.slice(2));
    chooseVariables(program);
    refuseLostValues(program);
    await program.parseAsync();
  } catch (error) {
    process.exitCode = tell(error);
  }
}

/** Prints the error and returns the exit code. */
function tell(error: unknown): number {
  // Already printed by commander, which also ends --help and --version this way.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
  // Other expected errors have their own message.
  const full =
    error instanceof AppError && error.code !== 'data-unreadable' ? undefined : fullDiskError(error);
  if (full !== undefined) {
    // DuckDB adds advice about its settings on further lines.
    const [reason] = full.message.split('\n');
    remark(`corkboard: The disk is full (${reason}). Free some space and run the command again.`);
    return REFUSED;
  }
  if (isMemoryShortage(error)) {
    remark(`corkboard: ${MEMORY_SHORTAGE}`);
    return REFUSED;
  }
  if (error instanceof AppError) {
    remark(`corkboard: ${error.message}`);
    return error.code === 'option-malformed' ? MISUSED : REFUSED;
  }
  remark(`corkboard: ${isSystemTrouble(error) ? error.message : describeBug(error)}`);
  return REFUSED;
}

/**
 * Whether the system caused the error (a full disk, a folder without permission, a locked file)
 * and not a bug.
 */
function isSystemTrouble(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // DuckDB reports file errors only in the message.
  return (
    'syscall' in error ||
    /^IO Error: /.test(error.message) ||
    isSqliteTrouble(error) ||
    isPostgresTrouble(error)
  );
}

function isSqliteTrouble(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_SQLITE_ERROR';
}

/**
 * Missing privileges, an unknown database, no room, a cancelled statement, a broken disk. Our own
 * statements cause the other codes.
 */
function isPostgresTrouble(error: Error): boolean {
  return 'severity' in error && 'code' in error && /^(28|3D|42501|53|57|58)/.test(String(error.code));
}

function describeBug(error: unknown): string {
  return error instanceof Error ? `This is a bug. ${error.stack ?? error.message}` : String(error);
}
