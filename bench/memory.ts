/** Memory of another process as Linux counts it. Elsewhere there are no figures, and the report shows a dash. */
import { readFileSync } from 'node:fs';

export interface Memory {
  /** Resident now, in bytes. */
  readonly residentBytes: number;
  /** The most that was ever resident, in bytes. */
  readonly peakBytes: number;
}

/** Absent where the system does not tell, or when the process has ended. */
export function readMemory(pid: number): Memory | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const residentBytes = readField(status, 'VmRSS');
    const peakBytes = readField(status, 'VmHWM');
    return residentBytes === undefined || peakBytes === undefined ? undefined : { residentBytes, peakBytes };
  } catch {
    return undefined;
  }
}

function readField(status: string, name: string): number | undefined {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
