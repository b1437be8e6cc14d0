/** The reading half of an import: every record of every input is read, checked and staged, or found wrong. */
import type { RecordKind, Staged } from '../dataset/staging.ts';
import type { Publication } from '../dataset/store.ts';
import type { Findings } from './findings.ts';
import { NestedEvents } from './nested-events.ts';
import type { OpenInput } from './open-input.ts';
import type { ReadParquet } from './parquet-input.ts';
import { PlainEvents } from './plain-events.ts';
import type { Meter } from './progress.ts';
import { readRecords } from './reading.ts';
import type { Reading } from './record-reading.ts';
import { readRecord, type Take } from './records.ts';
import { Refusal } from './refusal.ts';
import { Stager } from './stager.ts';
import { WrittenOut } from './written-out.ts';

export interface ImportedFile {
  /** As the user gave it. */
  readonly name: string;
  readonly kind: RecordKind;
  /** Records read, good and bad. */
  readonly records: number;
}

export interface StagingRun {
  readonly inputs: readonly OpenInput[];
  /** The organization that nested events must name. */
  readonly organizationId: bigint;
  readonly readParquet: ReadParquet;
  /** Keep the text of records for the file of rejects; bad records then do not end the staging. */
  readonly keepsRaw: boolean;
  readonly publication: Publication;
  readonly findings: Findings;
  readonly meter: Meter;
}

/** Stages what holds and reports what does not. With a problem and no file of rejects, nothing more is staged. */
export async function stageInputs(run: StagingRun): Promise<ImportedFile[]> {
  const stager = new Stager(run.publication);
  const writtenOut = new WrittenOut();
  const files: ImportedFile[] = [];
  for (const [file, open] of run.inputs.entries()) {
    const { kind, name } = open.input;
    const take = takeInto(stager, kind === 'events' ? writtenOut : undefined, open.form.format === 'csv');
    let records = 0;
    // The quick ways keep no text of a record.
    const plainFile = run.keepsRaw ? undefined : file;
    const nested = run.keepsRaw || kind !== 'events' ? undefined : new NestedEvents(file, writtenOut);
    const { readParquet } = run;
    for await (const readings of readRecords(open, { readParquet, isLast: true, plainFile, nested })) {
      if (readings instanceof PlainEvents) {
        await flush(run, stager);
        if (run.findings.count === 0) await run.publication.stageEvents(readings);
        records += readings.count;
        run.meter.addRecords(readings.count, name);
        continue;
      }
      let read = 0;
      for (const reading of readings) {
        checkReading(run, kind, file, reading, take, nested);
        if (reading.length === undefined) continue;
        read += 1;
        if (stager.isFull(reading.length)) await flush(run, stager);
      }
      records += read;
      run.meter.addRecords(read, name);
      await run.findings.relieve();
    }
    await flush(run, stager);
    run.meter.tell(name);
    files.push({ name, kind, records });
  }
  return files;
}

function checkReading(
  run: StagingRun,
  kind: RecordKind,
  file: number,
  reading: Reading,
  take: Take,
  nested: NestedEvents | undefined,
): void {
  const event = reading.event?.();
  if (event !== undefined) {
    take('events', event);
    return;
  }
  const { line } = reading;
  try {
    const written = reading.read();
    const at: Staged = run.keepsRaw ? { file, line, raw: reading.raw } : { file, line };
    readRecord(kind, written, at, run.organizationId, take);
    nested?.learn(written, reading.raw);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { field, reason } = error;
    const raw = reading.length === undefined ? undefined : reading.raw;
    run.findings.add({ file, line, field, reason, raw });
  }
}

/** What events have written out before is not staged again. */
function takeInto(stager: Stager, writtenOut: WrittenOut | undefined, isCut: boolean): Take {
  return (kind, record) => {
    if (writtenOut?.isNews(kind, record, isCut) ?? true) stager.add(kind, record);
  };
}

async function flush({ keepsRaw, findings }: StagingRun, stager: Stager): Promise<void> {
  if (keepsRaw || findings.count === 0) await stager.flush();
  // The import is refused already; what follows is only checked, for the report.
  else stager.clear();
}
