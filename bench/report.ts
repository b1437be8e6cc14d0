/** The figures as Markdown tables, which read well on a terminal too. */
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import type { LoadFigures } from './client.ts';
import { type CaseResult, type DataSetResult, speed } from './measurement.ts';

const MEGABYTE = 1e6;

export function renderResults(dataSets: readonly DataSetResult[]): string {
  return dataSets.flatMap(renderDataSet).join('\n');
}

/** Machine, versions and date; to be made before the run, because it tells what else the machine was doing. */
export function renderCircumstances(version: string, rounds: number): string {
  const processors = cpus();
  return [
    `- ${new Date().toISOString().slice(0, 10)}, corkboard ${version}, Node ${process.version}`,
    `- ${processors[0]?.model.trim() || 'unknown processor'}, ${processors.length} cores, ` +
      `${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${platform()} ${release()} ${arch()}`,
    `- load average before the run: ${loadavg()[0]?.toFixed(1)} (0 is a machine with nothing else to do)`,
    `- median of ${rounds} rounds, product and baseline in turn; ratio: product to baseline, more is faster`,
    '',
  ].join('\n');
}

function renderDataSet(result: DataSetResult): string[] {
  const rate = Math.round((result.events / result.importMs) * 1000).toLocaleString('en');
  return [
    `## ${result.title}`,
    '',
    `Import: ${(result.importMs / 1000).toFixed(1)} s, ${rate} events/s, peak memory ${megabytes(result.importPeakBytes)}. ` +
      `Server before the first request: ${megabytes(result.idle?.residentBytes)}.`,
    '',
    ...renderTable([
      [
        'answer',
        'size',
        'ratio',
        'corkboard',
        'baseline',
        'first byte',
        'p50',
        'p99',
        'peak memory above idle',
      ],
      ...result.results.map((one) => renderCase(one, result)),
    ]),
    '',
  ];
}

function renderCase(result: CaseResult, { idle }: DataSetResult): string[] {
  const pair = (read: (figures: LoadFigures) => string) =>
    `${read(result.product)} / ${read(result.baseline)}`;
  const above = result.memory && idle ? result.memory.peakBytes - idle.residentBytes : undefined;
  return [
    result.case.title,
    bytes(result.answerBytes),
    result.ratio.toFixed(2),
    rateOf(result, result.product),
    rateOf(result, result.baseline),
    pair((figures) => milliseconds(figures.firstByteMs)),
    pair((figures) => milliseconds(figures.p50Ms)),
    pair((figures) => milliseconds(figures.p99Ms)),
    megabytes(above),
  ];
}

function rateOf(result: CaseResult, figures: LoadFigures): string {
  const value = speed(result.case, figures);
  return result.case.large
    ? `${(value / MEGABYTE).toFixed(0)} MB/s`
    : `${Math.round(value).toLocaleString('en')} /s`;
}

function renderTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`);
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return lines.toSpliced(1, 0, rule);
}

function bytes(count: number): string {
  return count < 1000
    ? `${count} B`
    : count < MEGABYTE
      ? `${(count / 1000).toFixed(1)} kB`
      : megabytes(count);
}

function megabytes(count: number | undefined): string {
  return count === undefined ? '-' : `${(count / MEGABYTE).toFixed(0)} MB`;
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}
