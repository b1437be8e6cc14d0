/** CPU time that the host of a virtual machine gives to others: the reason why figures differ from run to run. */
import { readFileSync } from 'node:fs';
import type { Report } from './report.ts';

/** Does the work, and remarks how much of the CPU time that the machine wanted meanwhile it did not get. */
export async function remarkStolen(report: Report, title: string, work: () => Promise<void>): Promise<void> {
  const before = readCpuTimes();
  await work();
  const after = readCpuTimes();
  if (before === undefined || after === undefined) return;
  const stolen = after.stolen - before.stolen;
  const share = stolen / Math.max(1, stolen + after.used - before.used);
  report.remark(`${title}: ${(100 * share).toFixed(0)} % of the CPU time wanted went to others of the host.`);
}

/** In ticks, since the machine was started; absent where nothing tells. */
function readCpuTimes(): { readonly used: number; readonly stolen: number } | undefined {
  try {
    const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen] = readFileSync(
      '/proc/stat',
      'utf8',
    )
      .split('\n', 1)[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number);
    return stolen === undefined ? undefined : { used: user + nice + system + irq + softIrq, stolen };
  } catch {
    return undefined;
  }
}
