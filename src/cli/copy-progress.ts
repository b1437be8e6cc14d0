/** How far the copy of an organization is, on standard error: a bar on a terminal, else a line every few seconds. */
import { SingleBar } from 'cli-progress';
import type { CopiedTable } from '../dataset/copied-tables.ts';
import type { Original } from '../dataset/copying.ts';
import { remark, renderCell } from './output.ts';

const LINE_EVERY_MS = 5000;

export interface CopyDisplay {
  show(table: CopiedTable, count: number): void;
  end(): void;
}

export function openCopyDisplay({ entry, facts }: Original): CopyDisplay {
  // The other tables are of no known length; they follow from these.
  const { events, users, boards, pins } = facts?.counts ?? { events: 0, users: 0, boards: 0, pins: 0 };
  const lengths: Partial<Record<CopiedTable, number>> = { events, users, boards, pins };
  const total = events + users + boards + pins;
  const name = renderCell(entry.name);
  const print = process.stderr.isTTY ? openBar(total) : openLines(total);
  let records = 0;
  return {
    show(table, count) {
      if (lengths[table] !== undefined) records += count;
      print.show(records, `${name}: ${table.replace('_', ' ')}`);
    },
    end: () => print.end(),
  };
}

interface Print {
  show(records: number, what: string): void;
  end(): void;
}

function openBar(total: number): Print {
  const bar = new SingleBar({
    format: '{bar} {percentage}%  {value} records  {what}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total, 0, { what: '' });
  return { show: (records, what) => bar.update(records, { what }), end: () => bar.stop() };
}

function openLines(total: number): Print {
  let lastMs = performance.now();
  return {
    show(records, what) {
      if (performance.now() - lastMs < LINE_EVERY_MS) return;
      lastMs = performance.now();
      const percent = Math.floor((records * 100) / Math.max(total, 1));
      remark(`${percent} %, ${records.toLocaleString('en')} records, ${what}`);
    },
    end: () => {},
  };
}
