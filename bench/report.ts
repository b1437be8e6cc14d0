/** The results of a run: rows of tables, checks, remarks, and named values that others combine. */
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { readVersionLine } from './processes.ts';
import { renderTable } from './table.ts';
import { TABLES, type TableName } from './tables.ts';

export class Report {
  readonly #rows = new Map<TableName, string[][]>();
  readonly #figures = new Map<string, number>();
  readonly #checks: string[][] = [];
  readonly #remarks: string[] = [];
  readonly #say: (line: string) => void;
  #failed = false;

  /** `say` receives progress messages. */
  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Whether a check failed. */
  get failed(): boolean {
    return this.#failed;
  }

  say(line: string): void {
    this.#say(line);
  }

  addRow(table: TableName, ...cells: readonly string[]): void {
    this.#rows.set(table, [...(this.#rows.get(table) ?? []), [...cells]]);
  }

  check(data: string, what: string, holds: boolean): void {
    this.#checks.push([data, what, holds ? 'yes' : '**no**']);
    if (!holds) this.#failed = true;
  }

  /** Adds a remark, for example on something that was left out, and its reason. */
  remark(text: string): void {
    if (!this.#remarks.includes(text)) this.#remarks.push(text);
    this.#say(text);
  }

  setFigure(name: string, value: number | undefined): void {
    if (value !== undefined) this.#figures.set(name, value);
  }

  figure(name: string): number | undefined {
    return this.#figures.get(name);
  }

  /** Names of values with this prefix, in the order in which they were set. */
  figureNames(start: string): string[] {
    return [...this.#figures.keys()].filter((name) => name.startsWith(start));
  }

  figures(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#figures);
  }

  render(): string {
    const tables = Object.entries(TABLES).flatMap(([name, { title, note, header }]) => {
      const rows = this.#rows.get(name as TableName);
      return rows === undefined ? [] : [`## ${title}`, '', note, '', ...renderTable([header, ...rows]), ''];
    });
    const checks =
      this.#checks.length === 0 ? [] : renderTable([['data', 'check', 'holds'], ...this.#checks]);
    return [
      ...tables,
      ...(checks.length === 0 ? [] : ['## Checks', '', ...checks, '']),
      ...(this.#remarks.length === 0
        ? []
        : ['## Remarks', '', ...this.#remarks.map((one) => `- ${one}`), '']),
    ].join('\n');
  }
}

/** Machine, versions, date and load; call it before the run, because the run itself adds load. */
export function renderCircumstances(version: string, client: string): string {
  const processors = cpus();
  const nginx = readVersionLine('nginx', '-v', /nginx\/(\S+)/);
  return [
    `- ${new Date().toISOString().slice(0, 10)}, corkboard ${version}, Node ${process.version}, ${nginx ? `nginx ${nginx}` : 'no nginx'}`,
    `- ${processors[0]?.model.trim() || 'unknown processor'}, ${processors.length} cores, ` +
      `${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${platform()} ${release()} ${arch()}`,
    `- load average before the run: ${loadavg()[0]?.toFixed(1)} (0 is a machine with nothing else to do)`,
    `- clients, on the same cores: curl ${readVersionLine('curl', '--version', /curl (\S+)/)} for exports, ${client} for small requests`,
    '',
  ].join('\n');
}
