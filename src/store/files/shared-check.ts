/** Checks the chunks of an organization in a shared store. */
import type { PostgresCatalog, Sharing } from '../catalog/postgres-catalog.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import { chunkName, decodeManifest, digestIn, digestOf, epochIn } from '../chunks/manifest.ts';
import { WrongVersion } from '../version/publish/version-identity.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { checkVersion } from '../version/read/version-check.ts';
import { type CheckReport, reasonOf } from './check-report.ts';

export interface SharedCheck {
  readonly catalog: PostgresCatalog;
  readonly sharing: Sharing;
  readonly place: ChunkPlace;
  /** Fetches a version into the local cache; the caller releases it. */
  readonly fetch: (publication: number) => Promise<VersionFile>;
}

export async function checkSharedFiles(check: SharedCheck, report: CheckReport): Promise<void> {
  const { catalog, sharing } = check;
  const last = await catalog.lastLease(sharing.organization);
  const stored = new Set<string>();
  for await (const names of check.place.list(`${sharing.folder}/`)) {
    for (const name of names) stored.add(name);
  }
  const needed = new Set<string>();
  for (const { publication, manifest } of await catalog.kept(sharing.organization)) {
    try {
      for (const chunk of decodeManifest(manifest).chunks) needed.add(chunkName(sharing.folder, chunk));
      await checkContent(check, publication, report);
    } catch (error) {
      const isWrong = error instanceof WrongVersion;
      const advice = restoring(sharing.name);
      report.damage(
        isWrong ? error.message : `Version ${publication} cannot be read (${reasonOf(error)}). ${advice}`,
      );
    }
  }
  const names = [...needed];
  for (let at = 0; at < names.length; at += check.place.parallel) {
    const some = names.slice(at, at + check.place.parallel);
    await Promise.all(some.map((name) => checkChunk(check, name, report)));
  }
  // While a command has the lease, it may be storing or removing chunks.
  if (last.isHeld || (await catalog.lastLease(sharing.organization)).epoch !== last.epoch) return;
  const spare = [...stored].filter((name) => !needed.has(name) && epochIn(name) <= last.epoch);
  if (spare.length === 0) return;
  report.damage(
    `No version needs ${spare.length} stored chunks (${spare[0]}). They were left by a command that was killed: the next import removes them, and so does "organizations remove" if it was interrupted.`,
  );
}

/** What to do about damaged data of an organization. */
export function restoring(name: string): string {
  return `Restore the database and the bucket from a backup, or run: corkboard restore BACKUP --replace --organization ${JSON.stringify(name)}`;
}

async function checkContent({ fetch, sharing }: SharedCheck, publication: number, report: CheckReport) {
  const file = await fetch(publication);
  try {
    const { problems } = await checkVersion(file);
    for (const problem of problems) {
      report.damage(`In version ${publication} ${problem}. ${restoring(sharing.name)}`);
    }
  } finally {
    file.release();
  }
}

async function checkChunk({ place, sharing }: SharedCheck, name: string, report: CheckReport): Promise<void> {
  const bytes = await place.get(name);
  if (bytes === undefined) report.damage(`The stored chunk ${name} is missing. ${restoring(sharing.name)}`);
  else if (digestOf(bytes) !== digestIn(name)) {
    report.damage(`The stored chunk ${name} is damaged. ${restoring(sharing.name)}`);
  }
  report.onBytes(bytes?.length ?? 0);
}
