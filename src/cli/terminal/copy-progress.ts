/**
 * The progress of a copy or an export of an organization, on standard error: a bar on a terminal,
 * otherwise a line every few seconds.
 */
import { SingleBar } from 'cli-progress';
import { remark, renderCell } from './output.ts';

const LINE_EVERY_MS = 5000;

export interface CopyDisplay {
  /** `what` names the part that is being written; it can be empty. */
  show(done: number, total: number, what: string): void;
  end(): void;
}

/** `label` names the subject, like the organization; `unit` is the counted unit, like `records`. */
export function openCopyDisplay(label: string, unit: string): CopyDisplay {
  const name = renderCell(label);
  const print = process.stderr.isTTY ? openBar(unit) : openLines(unit);
  return {
    show: (done, total, what) => print.show(done, total, what === '' ? name : `${name}: ${what}`),
    end: () => print.end(),
  };
}

function openBar(unit: string): CopyDisplay {
  const bar = new SingleBar({
    format: `{bar} {percentage}%  {value} ${unit}  {what}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(1, 0, { what: '' });
  return {
    show(done, total, what) {
      bar.setTotal(total);
      bar.update(done, { what });
    },
    end: () => bar.stop(),
  };
}

function openLines(unit: string): CopyDisplay {
  let lastMs = performance.now();
  return {
    show(done, total, what) {
      if (performance.now() - lastMs < LINE_EVERY_MS) return;
      lastMs = performance.now();
      const percent = Math.floor((done * 100) / Math.max(total, 1));
      remark(`${percent} %, ${done.toLocaleString('en')} ${unit}, ${what}`);
    },
    end: () => {},
  };
}
