/** What becomes slower with more data: made of the figures of the other scenarios. */

import { SMALL_KINDS } from '../questions.ts';
import type { Report } from '../report.ts';
import { duration, ratio } from '../table.ts';

export function addGrowth(
  report: Report,
  smaller: { readonly title: string; readonly events: number },
  larger: { readonly title: string; readonly events: number },
): void {
  const add = (what: string, name: string, perEvent: boolean): void => {
    const scale = (events: number) => (perEvent ? 1e6 / events : 1);
    const before = report.figure(`${smaller.title}/${name}`);
    const after = report.figure(`${larger.title}/${name}`);
    if (before === undefined || after === undefined) return;
    const [from, to] = [before * scale(smaller.events), after * scale(larger.events)];
    const value = to / from;
    report.addRow('growth', what, ratio(value), duration(from), duration(to));
  };
  for (const kind of SMALL_KINDS) add(`one ${kind} request`, `${kind}/rendered anew/alone`, false);
  add('304', 'unchanged/all events/alone', false);
  add('start-up, a million events', 'start/ms', true);
  add('export, plain, a million events', 'plain/ms', true);
  add('export, gzip for the first time, a million events', 'gzip/first/ms', true);
  add('export, gzip again, a million events', 'gzip/ms', true);
}
