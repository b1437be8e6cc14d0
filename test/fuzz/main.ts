/** `npm run fuzz`: mutated input for every reader of foreign data. */
import { Findings, readFinding } from './findings.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { type Found, runSession, type SessionFigures } from './session.ts';
import { sortOf } from './target.ts';

for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1));

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) print(HELP);
  else if (options.replay !== undefined) await replay(options.replay);
  else await fuzz(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(text);
}

async function fuzz({ targets, minutes, cases, seed, out }: Options): Promise<void> {
  const findings = new Findings(out);
  print(`Seed ${seed}\n`);
  for (const target of targets) {
    const onFound = (found: Found) => {
      if (findings.add(found)) print(`  ${sortOf(found)} (case ${found.number})\n`);
    };
    const figures = await runSession({ target, seed, cases, forMs: minutes * 60_000, onFound });
    print(`${target}: ${renderFigures(figures)}\n`);
  }
  print(
    findings.sorts === 0 ? 'No findings\n' : `\n${findings.sorts} sorts of findings\n${findings.render()}`,
  );
  if (findings.sorts > 0) process.exitCode = 1;
}

function renderFigures({
  cases,
  elapsedMs,
  peakBytes,
  grownBytes,
  slowestMs,
  slowestNumber,
}: SessionFigures): string {
  const rate = (cases / (elapsedMs / 1000)).toFixed(0);
  return (
    `${cases} cases, ${rate}/s, peak memory ${megabytes(peakBytes)}, grown by ${megabytes(grownBytes)}, ` +
    `slowest case ${(slowestMs / 1000).toFixed(2)} s (case ${slowestNumber})`
  );
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

async function replay(path: string): Promise<void> {
  const { target, seed, one } = readFinding(path);
  let count = 0;
  const onFound = (found: Found) => {
    count += 1;
    print(`${found.kind}: ${found.what}\n`);
  };
  await runSession({ target, seed, cases: 1, forMs: 60_000, replayed: one, onFound });
  print(count === 0 ? 'The case passes\n' : '');
  if (count > 0) process.exitCode = 1;
}
