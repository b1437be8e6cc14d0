/** The memory of the machine. */
import { readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import { availableMemory, constrainedMemory } from 'node:process';

/** In bytes: of the machine, or of its control group if that is less. */
export function machineMemory(): number {
  // 0 or more than any machine has, if there is no control group.
  const constrained = constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

let sharedBytes: number | undefined;

/**
 * Makes `freeMemory` return this value from now on: the memory in bytes that was free before the
 * processes started that share it. One that is started again would measure only what the others
 * have left.
 */
export function shareMemory(bytes: number): void {
  sharedBytes = bytes;
}

/**
 * Memory that is free now, in bytes. Includes the cache of files of a control group, which Node
 * counts as used: the system gives it up when memory is needed. After `shareMemory`, the value that
 * was given there.
 */
export function freeMemory(): number {
  return sharedBytes ?? Math.min(machineMemory(), freemem(), availableMemory() + fileCacheBytes());
}

/** Each line has a number, the controllers (none with version 2), and the path of a group. */
const GROUPS = '/proc/self/cgroup';

type ReadText = (path: string) => string;

/** Files of the control group of this process in the cache, in bytes; 0 if that is unknown. */
export function fileCacheBytes(read: ReadText = (path) => readFileSync(path, 'utf8')): number {
  const readIfExists = (path: string) => {
    try {
      return read(path);
    } catch {
      return undefined;
    }
  };
  const groups = [...(readIfExists(GROUPS) ?? '').matchAll(/^\d+:([^:\n]*):(.*)$/gm)];
  const first = groups.find(([, controllers]) => controllers?.split(',').includes('memory'));
  const [, , path = ''] = first ?? groups.find(([, controllers]) => controllers === '') ?? [];
  const [root, field] = first ? ['/sys/fs/cgroup/memory', 'total_'] : ['/sys/fs/cgroup', ''];
  // In a container, the path can be that outside of it.
  const stat = readIfExists(join(root, path, 'memory.stat')) ?? readIfExists(join(root, 'memory.stat'));
  const bytes = stat?.matchAll(new RegExp(`^${field}(?:in)?active_file (\\d+)$`, 'gm')) ?? [];
  return [...bytes].reduce((sum, [, digits]) => sum + Number(digits), 0);
}
