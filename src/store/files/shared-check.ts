/** Checks the chunks of an organization in a shared store. */
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { PostgresCatalog, Sharing } from '../catalog/postgres-catalog.ts';
import type { ChunkPlace } from '../chunks/chunk-place.ts';
import { chunkName, decodeManifest, digestIn, digestOf, epochIn } from '../chunks/manifest.ts';
import { WrongVersion } from '../version/publish/version-identity.ts';
import type { VersionFile } from '../version/read/opened-version.ts';
import { checkVersion } from '../version/read/version-check.ts';
import { type CheckReport, reasonOf } from './check-report.ts';

export interface SharedCheck {
  readonly catalog: PostgresCatalog;
  readonly entry: CatalogEntry;
  readonly sharing: Sharing;
  readonly place: ChunkPlace;
  /** Fetches a version into the local cache; the caller releases it. */
  readonly fetch: (publication: number) => Promise<VersionFile>;
}

export async function checkSharedFiles(check: SharedCheck, report: CheckReport): Promise<void> {
  const { catalog, entry, sharing, place } = check;
  const { folder, organization } = sharing;
  const last = await catalog.lastLease(organization);
  const stored = new Set<string>();
  for await (const names of place.list(`${folder}/`)) for (const name of names) stored.add(name);
  const kept = await catalog.kept(organization);
  const chunks = new Map<number, readonly string[]>();
  for (const { publication, manifest } of kept) {
    await reported(check, publication, report, async () => {
      const names = decodeManifest(manifest).chunks.map((chunk) => chunkName(folder, chunk));
      chunks.set(publication, names);
    });
  }
  const needed = new Set([...chunks.values()].flat());
  const broken = await checkChunks(check, [...needed], report);
  for (const [publication, names] of chunks) {
    if (names.some((name) => broken.has(name))) continue;
    await reported(check, publication, report, () => checkContent(check, publication, report));
  }
  // While a command has the lease, it may be storing or removing chunks. Without its manifest, the
  // chunks of a version cannot be told from others.
  const hasAll =
    chunks.size === kept.length && (entry.publication === undefined || chunks.has(entry.publication));
  if (!hasAll || last.isHeld || (await catalog.lastLease(organization)).epoch !== last.epoch) return;
  const spare = [...stored].filter((name) => !needed.has(name) && epochIn(name) <= last.epoch);
  if (spare.length === 0) return;
  report.damage(
    `Stored chunks that no version needs: ${spare.length} (${spare[0]}). They were left by a command that was killed: the next import removes them, and so does "organizations remove" if it was interrupted.`,
  );
}

/** Reports an error that `work` throws about a version. */
async function reported(
  { sharing }: SharedCheck,
  publication: number,
  report: CheckReport,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isWrong = error instanceof WrongVersion;
    const advice = restoring(sharing.name);
    report.damage(
      isWrong ? error.message : `Version ${publication} cannot be read (${reasonOf(error)}). ${advice}`,
    );
  }
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

/** Returns those that are missing or damaged. */
async function checkChunks(
  { place, sharing }: SharedCheck,
  names: readonly string[],
  report: CheckReport,
): Promise<ReadonlySet<string>> {
  const missing: string[] = [];
  const damaged: string[] = [];
  for (let at = 0; at < names.length; at += place.parallel) {
    const check = async (name: string) => {
      const bytes = await place.get(name);
      if (bytes === undefined) missing.push(name);
      else if (digestOf(bytes) !== digestIn(name)) damaged.push(name);
      report.onBytes(bytes?.length ?? 0);
    };
    await Promise.all(names.slice(at, at + place.parallel).map(check));
  }
  for (const [problem, found] of Object.entries({ missing, damaged })) {
    if (found.length === 0) continue;
    report.damage(`Stored chunks are ${problem}: ${found.length} (${found[0]}). ${restoring(sharing.name)}`);
  }
  return new Set([...missing, ...damaged]);
}
