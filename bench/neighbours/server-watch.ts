/** Watches the memory and the unlinked temporary files of a server during an attack. */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { readProcessTree, readText } from '../memory.ts';
import { GUARD_BYTES, GUARD_DISK_BYTES } from './bounds.ts';

export interface Taken {
  readonly residentBytes: number;
  readonly diskBytes: number;
}

const LOOK_EVERY_MS = 100;
/** Disk use is checked only every tenth time, because it looks at thousands of open files. */
const DISK_EVERY = 10;

export class ServerWatch implements Disposable {
  peak: Taken;
  /** Resolves with the reason if the attack has to end. */
  readonly guard: Promise<string>;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.peak = takenBy(pid);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.guard = promise;
    let looks = 0;
    this.#timer = setInterval(() => {
      looks += 1;
      const residentBytes = residentOf(pid);
      const diskBytes = looks % DISK_EVERY === 0 ? diskOf(pid) : 0;
      this.peak = {
        residentBytes: Math.max(this.peak.residentBytes, residentBytes),
        diskBytes: Math.max(this.peak.diskBytes, diskBytes),
      };
      if (residentBytes > GUARD_BYTES) resolve(`the server took more than ${GUARD_BYTES / 1e9} GB of memory`);
      if (diskBytes > GUARD_DISK_BYTES)
        resolve(`the server took more than ${GUARD_DISK_BYTES / 1e9} GB of temporary files`);
    }, LOOK_EVERY_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

export function takenBy(pid: number): Taken {
  return { residentBytes: residentOf(pid), diskBytes: diskOf(pid) };
}

/** Resident memory of all processes; shared memory counts once per process. */
function residentOf(pid: number): number {
  const kibibytes = readProcessTree(pid).map(
    (one) => /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${one}/status`))?.[1],
  );
  return kibibytes.reduce((sum, count) => sum + Number(count ?? 0) * 1024, 0);
}

function diskOf(pid: number): number {
  return readProcessTree(pid).reduce((sum, one) => sum + namelessBytes(one), 0);
}

/** Size of open files without a name, in blocks, because the files may be sparse. */
function namelessBytes(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  let bytes = 0;
  for (const name of namesIn(folder)) {
    try {
      const target = readlinkSync(`${folder}/${name}`);
      if (target.endsWith(' (deleted)') && !target.startsWith('/memfd:'))
        bytes += statSync(`${folder}/${name}`).blocks * 512;
    } catch {
      // The file has been closed in the meantime.
    }
  }
  return bytes;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
