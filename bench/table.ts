/** Tables as Markdown, which are also readable on a terminal, and the numbers in them. */

/** The first row is the header. */
export function renderTable(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`);
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return lines.toSpliced(1, 0, rule);
}

export function bytes(count: number | undefined): string {
  if (count === undefined) return '-';
  if (count < 1000) return `${Math.round(count)} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return count < 10e9 ? `${(count / 1e6).toFixed(0)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}

export function duration(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}

export function rate(perSecond: number | undefined): string {
  return perSecond === undefined ? '-' : Math.round(perSecond).toLocaleString('en');
}

export function ratio(value: number | undefined): string {
  return value === undefined ? '-' : value.toFixed(value < 10 ? 2 : 0);
}

/** Renders 1000000 as "1 M". */
export function size(events: number): string {
  const [count, unit] = events % 1e6 === 0 ? [events / 1e6, ' M'] : [events, ''];
  return `${count.toLocaleString('en')}${unit}`;
}
