/**
 * The cost of long texts: memory of an import and of a server for a million events whose pins have
 * 7 MB, 160 MB and 2 GB of text. Prints a table for docs/operations.md. Requires
 * `npm run build`.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBed, prepareGround } from './bed.ts';
import { communityOf, FIRST_BOARD, writeCommunity } from './community.ts';
import { settledPss } from './memory.ts';

const EVENTS = 1_000_000;
/** Additional text in the bodies of pins. */
const MORE_BYTES = [0, 153_000_000, 2_000_000_000];

const community = communityOf(EVENTS);
const pins = community.boards * 3;
const { signal } = new AbortController();
const root = await mkdtemp(join(tmpdir(), 'corkboard-texts-'));

/** Additional text, peak memory of the import, and memory of the server at rest, in megabytes. */
async function measure(moreBytes: number): Promise<readonly number[]> {
  const folder = await mkdtemp(join(root, 'community-'));
  const bundle = join(folder, 'bundle');
  await mkdir(bundle);
  await writeCommunity(bundle, community, Math.round(moreBytes / pins));
  const firstPath = `/a/v1/events/board/${FIRST_BOARD}`;
  const about = { title: 'texts', community, folder, firstPath };
  const { ground, peakBytes = Number.NaN } = await prepareGround(about, [bundle], signal);
  await using bed = await openBed(ground, signal);
  const restBytes = (await settledPss([bed.server.pid])) ?? Number.NaN;
  return [moreBytes, peakBytes, restBytes].map((bytes) => Math.round(bytes / 1e6));
}

try {
  const rows: (readonly number[])[] = [];
  for (const moreBytes of MORE_BYTES) rows.push(await measure(moreBytes));
  const lines = rows.map((row) => `${row.join('\t')}\n`).join('');
  process.stdout.write(`more text, MB\timport, MB\tserver at rest, MB\n${lines}`);
} finally {
  await rm(root, { recursive: true });
}
