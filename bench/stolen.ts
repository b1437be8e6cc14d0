/** CPU time that the host of a virtual machine gives to other guests: why measurements vary. */
import { readText } from './memory.ts';
import type { Report } from './report.ts';

/** Does the work and reports which share of the requested CPU time the machine did not get. */
export async function remarkStolen<T>(report: Report, title: string, work: () => Promise<T>): Promise<T> {
  const before = readCpuTimes();
  const done = await work();
  const after = readCpuTimes();
  if (before === undefined || after === undefined) return done;
  const stolen = after.stolen - before.stolen;
  const share = stolen / Math.max(1, stolen + after.used - before.used);
  report.remark(`${title}: ${(100 * share).toFixed(0)} % of the CPU time wanted went to others of the host.`);
  return done;
}

/** In ticks since the start of the machine; undefined if the system does not report it. */
function readCpuTimes(): { readonly used: number; readonly stolen: number } | undefined {
  const [total = ''] = readText('/proc/stat').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen] = total
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return stolen === undefined ? undefined : { used: user + nice + system + irq + softIrq, stolen };
}
