/** Imports: flat CSV, the nested events of an export, and a few events added to many. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copyGround, fileBytes, type Ground, openBed, type Plan, prepareGround, untilTaken } from '../bed.ts';
import { readFileContent } from '../checks.ts';
import { writeIncrement } from '../community.ts';
import { importFiles } from '../corkboard.ts';
import { download } from '../curl.ts';
import { readEntityTag } from '../site.ts';
import { bytes, duration, rate } from '../table.ts';

const INCREMENT_EVENTS = 1_000;
/** Versions are kept for a while, so the file of none is free for the first publications. */
const MOST_WITHOUT_SPARE = 5;

interface Imported {
  readonly elapsedMs: number;
  readonly peakBytes: number | undefined;
  /** Absent if no server waits for it. */
  readonly takenUpMs?: number;
}

export function addImport(
  plan: Plan,
  ground: Ground,
  what: string,
  events: number,
  { elapsedMs, peakBytes, takenUpMs }: Imported,
): void {
  const perSecond = (events / elapsedMs) * 1000;
  const { title } = ground;
  const fileSize = fileBytes(ground, 'duckdb');
  plan.report.addRow(
    'import',
    ...[title, what, rate(perSecond), duration(elapsedMs), duration(takenUpMs)],
    ...[bytes(peakBytes), bytes(fileSize)],
  );
  plan.report.setFigure(`${title}/import/${what}/ms`, elapsedMs);
  plan.report.setFigure(`${title}/import/${what}/taken up/ms`, takenUpMs);
  plan.report.setFigure(`${title}/import/${what}/peak/bytes`, peakBytes);
  plan.report.setFigure(`${title}/import/${what}/file/bytes`, fileSize);
}

/**
 * Imports an NDJSON export into a new organization, whose export must have the same bytes
 * (decision 28).
 */
export async function measureNestedImport(ground: Ground, plan: Plan): Promise<void> {
  const { report, signal } = plan;
  report.say(`${ground.title}: import of nested NDJSON`);
  const file = join(ground.folder, 'events.ndjson');
  const copy = join(ground.folder, 'copied.ndjson');
  await exportTo(ground, file, signal);
  const about = { ...ground, folder: join(ground.folder, 'nested') };
  const imports = [];
  for (let round = 0; round < Math.min(3, plan.rounds); round++) {
    await rm(about.folder, { recursive: true, force: true });
    imports.push(await prepareGround(about, [file], signal));
  }
  const middle = imports.toSorted((one, other) => one.elapsedMs - other.elapsedMs)[imports.length >> 1]!;
  addImport(plan, middle.ground, 'nested NDJSON', ground.community.events, middle);
  // Only the last import still exists.
  await exportTo(imports.at(-1)!.ground, copy, signal);
  const [before, after] = [await readFileContent(file), await readFileContent(copy)];
  report.check(
    ground.title,
    'an imported export is exported as the same bytes',
    before.digest === after.digest,
  );
  for (const path of [file, copy, about.folder]) await rm(path, { recursive: true });
}

/**
 * Imports into a copy of the data, so that it stays unchanged for other scenarios, while a server
 * has it.
 */
export async function measureIncrements(ground: Ground, plan: Plan): Promise<void> {
  const { report, signal } = plan;
  report.say(`${ground.title}: imports of a few events onto many`);
  const copy = await copyGround(ground, 'increment-data');
  const file = join(ground.folder, 'events-more.csv');
  {
    await using bed = await openBed(copy, signal, '--workers', '1');
    let number = 0;
    const publish = async (isLatest = false) => {
      await writeIncrement(file, ground.community, INCREMENT_EVENTS, { number: number++, isLatest });
      const before = await readEntityTag(bed.product, '/a/v1/events', signal);
      const imported = await importFiles([file], copy.dataDir, signal);
      return { ...imported, takenUpMs: await untilTaken(bed.product, before, signal) };
    };
    const add = (what: string, imported: Imported) => addImport(plan, copy, what, INCREMENT_EVENTS, imported);
    add('1,000 more events, first', await publish());
    while (fileBytes(copy, 'spare') === undefined && number < MOST_WITHOUT_SPARE) await publish();
    if (fileBytes(copy, 'spare') === undefined) {
      report.remark(
        `${ground.title}: there is no spare file, because the data are small or the file system has clones.`,
      );
    }
    add('1,000 more events', await publish());
    add('1,000 latest events', await publish(true));
  }
  for (const path of [file, copy.dataDir]) await rm(path, { recursive: true });
}

async function exportTo(ground: Ground, file: string, signal: AbortSignal): Promise<void> {
  await using bed = await openBed(ground, signal);
  const headers = { ...bed.product.headers, accept: 'application/x-ndjson' };
  await download({ url: `http://127.0.0.1:${bed.product.port}/a/v1/events`, headers, file, signal });
}
