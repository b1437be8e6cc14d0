/** Changes to tables that respect cells, quotes and headers. */
import type { Random } from '../../../bench/random.ts';
import type { ChangeBytes } from './bytes.ts';
import { hostileText } from './values.ts';

type Lines = string[];

/** Changes a random line; the header is as likely as any other line. */
function changeLine(random: Random, lines: Lines, change: (line: string) => string): void {
  const at = random.below(lines.length);
  lines[at] = change(lines[at] ?? '');
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function writtenCell(random: Random, text: string): string {
  return random.below(4) === 0 ? text : quoted(text);
}

/** Ignores quotes when it splits cells: a wrong split is a mutation, too. */
function changeCell(random: Random, line: string, change: (cell: string) => string): string {
  const cells = line.split(',');
  const at = random.below(cells.length);
  cells[at] = change(cells[at] ?? '');
  return cells.join(',');
}

const CHANGES: readonly ((random: Random, lines: Lines) => void)[] = [
  (random, lines) =>
    changeLine(random, lines, (line) =>
      changeCell(random, line, () => writtenCell(random, hostileText(random))),
    ),
  (random, lines) =>
    changeLine(random, lines, (line) =>
      changeCell(random, line, () => writtenCell(random, hostileText(random))),
    ),
  (random, lines) => changeLine(random, lines, (line) => changeCell(random, line, quoted)),
  (random, lines) => changeLine(random, lines, (line) => changeCell(random, line, (cell) => `"${cell}`)),
  (random, lines) => changeLine(random, lines, (line) => changeCell(random, line, (cell) => `${cell}"x"`)),
  (random, lines) =>
    changeLine(random, lines, (line) => changeCell(random, line, (cell) => `${cell}\n${cell}`)),
  (random, lines) => changeLine(random, lines, (line) => changeCell(random, line, (cell) => `"${cell}\r\n"`)),
  (random, lines) => changeLine(random, lines, (line) => `${line},`),
  (random, lines) => changeLine(random, lines, (line) => line.slice(line.indexOf(',') + 1)),
  (random, lines) => changeLine(random, lines, (line) => line.split(',').toReversed().join(',')),
  (random, lines) =>
    changeLine(random, lines, (line) => line.replaceAll(',', random.pick([';', '\t', '|', ', ']))),
  (random, lines) => changeLine(random, lines, (line) => ` ${line} `),
  (random, lines) => changeLine(random, lines, (line) => `${line}\r`),
  (random, lines) => changeLine(random, lines, (line) => line.repeat(2)),
  (random, lines) =>
    lines.splice(random.below(lines.length), 0, random.pick(['', ',', '\r', '"', '""', '#'])),
  (random, lines) => lines.splice(random.below(lines.length), 1),
  (random, lines) => lines.splice(random.below(lines.length), 0, lines[0] ?? ''),
  (random, lines) =>
    lines.splice(random.below(lines.length), 0, ...lines.slice(random.below(lines.length)).slice(0, 5)),
  (random, lines) => {
    // In the header: a column repeated, in different case, or unknown.
    lines[0] = changeCell(random, lines[0] ?? '', (cell) =>
      random.pick([
        `${cell},${cell}`,
        cell.toUpperCase(),
        `${cell} `,
        '__proto__',
        'lms.',
        'lms.__proto__',
        '',
      ]),
    );
  },
];

export const changeCsv: ChangeBytes = (random, bytes) => {
  const lines = bytes.toString('utf8').split('\n');
  random.pick(CHANGES)(random, lines);
  return Buffer.from(lines.join('\n'));
};
