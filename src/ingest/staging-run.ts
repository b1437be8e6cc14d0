/**
 * The first half of an import: every record of every input is read, checked, and staged or reported
 * as invalid.
 */
import type { Staged } from '../store/staging.ts';
import type { Publication } from '../store/store.ts';
import { fieldsOf, type RecordConversions, withRealUsers } from './external-format.ts';
import type { Written } from './fields/form.ts';
import { Refusal } from './fields/refusal.ts';
import type { Findings } from './findings.ts';
import type { Translator } from './formats/format.ts';
import type { OpenInput } from './input/open-input.ts';
import type { ReadParquet } from './input/parquet-input.ts';
import type { Meter } from './progress.ts';
import { KnownRecords } from './records/known-records.ts';
import { NestedEvents } from './records/nested-events.ts';
import { PlainEvents } from './records/plain-events.ts';
import { type ReadingOptions, readRecords } from './records/reading.ts';
import { decodePlace, encodePlace, renderPlace } from './records/record-place.ts';
import type { Reading } from './records/record-reading.ts';
import { readRecord, readRecordOrDeletion, type Take, type TakeDeletion } from './records/records.ts';
import { Stager } from './records/stager.ts';

export interface ImportedFile {
  /** The name as the user gave it. */
  readonly name: string;
  /** A kind of record, or a format of other software. */
  readonly kind: string;
  /** Number of records read, valid and invalid. */
  readonly records: number;
}

export interface StagingRun {
  readonly inputs: readonly OpenInput[];
  /** The id of the organization; nested events with a different one are refused. */
  readonly organizationId: bigint;
  readonly readParquet: ReadParquet;
  /**
   * Whether the text of records is kept for the file of rejects; then invalid records do not end
   * the staging.
   */
  readonly keepsRaw: boolean;
  readonly publication: Publication;
  readonly findings: Findings;
  readonly meter: Meter;
  /** Absent for a bundle. */
  readonly translations: RecordConversions | undefined;
}

/**
 * Stages valid records and reports invalid ones. After a problem, without a file of rejects,
 * nothing more is staged.
 */
export async function stageInputs(run: StagingRun): Promise<ImportedFile[]> {
  const stager = new Stager(run.publication);
  const writtenOut = new KnownRecords();
  const files: ImportedFile[] = [];
  for (const [file, open] of run.inputs.entries()) {
    const { kind, name, foreign } = open.input;
    const take = takeInto(stager, kind === 'events' ? writtenOut : undefined, open.form.format === 'csv');
    const takeDeletion: TakeDeletion = (of, deletion) => {
      // A later event that contains the same record creates it again.
      if (of !== 'events') writtenOut.discard();
      stager.delete(of, deletion);
    };
    const translating = await translatingOf(run, open);
    const place = { open, stager, writtenOut, take, takeDeletion, translating };
    const records = await stageInput(run, file, place);
    await flush(run, stager);
    run.meter.tell(name);
    files.push({ name, kind: foreign?.name ?? kind, records });
  }
  const deletions = run.translations?.deletedEvents ?? [];
  if (deletions.length > 0 && takesMore(run)) await run.publication.stageDeletions('events', deletions);
  return files;
}

/** Absent for a bundle. */
async function translatingOf(
  { translations, readParquet, inputs }: StagingRun,
  open: OpenInput,
): Promise<Translating | undefined> {
  return translations && { translations, translator: await translations.open(open, inputs, readParquet) };
}

interface Place {
  readonly open: OpenInput;
  readonly stager: Stager;
  readonly writtenOut: KnownRecords;
  readonly take: Take;
  readonly takeDeletion: TakeDeletion;
  /** Absent for a bundle. */
  readonly translating: Translating | undefined;
}

interface Translating {
  readonly translations: RecordConversions;
  readonly translator: Translator;
}

/** Returns the number of records read. */
async function stageInput(run: StagingRun, file: number, place: Place): Promise<number> {
  const { open, stager, writtenOut, translating } = place;
  const { kind, name } = open.input;
  // The fast paths do not keep the text of records.
  const plainFile = run.keepsRaw ? undefined : file;
  const nested =
    run.keepsRaw || kind !== 'events' || translating !== undefined
      ? undefined
      : new NestedEvents(file, writtenOut);
  const options: ReadingOptions = {
    ...{ readParquet: run.readParquet, isLast: true, plainFile, nested },
    onAssumption: (assumption, line) => run.translations?.assume(assumption, renderPlace(name, { line })),
  };
  let records = 0;
  for await (const readings of readRecords(open, options)) {
    if (readings instanceof PlainEvents) {
      await flush(run, stager);
      if (run.findings.count === 0) await run.publication.stageEvents(readings);
      records += readings.count;
      run.meter.addRecords(readings.count, name);
      continue;
    }
    await run.translations?.learnFor(readings);
    let read = 0;
    for (const reading of readings) {
      checkReading(run, file, place, reading, nested);
      if (reading.length === undefined) continue;
      read += 1;
      if (stager.isFull(reading.length)) await flush(run, stager);
    }
    records += read;
    run.meter.addRecords(read, name);
    await run.findings.relieve();
  }
  return records;
}

function checkReading(
  run: StagingRun,
  file: number,
  place: Place,
  reading: Reading,
  nested: NestedEvents | undefined,
): void {
  const { open, take, takeDeletion, translating } = place;
  const event = reading.event?.();
  if (event !== undefined) {
    take('events', event);
    return;
  }
  const { kind } = open.input;
  const line = encodePlace(reading);
  try {
    const written = reading.read();
    const at: Staged = run.keepsRaw ? { file, line, raw: reading.raw } : { file, line };
    if (translating === undefined) {
      readRecordOrDeletion(kind, written, at, run.organizationId, take, takeDeletion);
      nested?.learn(written, reading.raw);
    } else takeTranslated(run.organizationId, place, translating, written, at);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { field, reason } = error;
    const raw = reading.length === undefined ? undefined : reading.raw;
    run.findings.add({ file, line, field, reason, raw });
  }
}

/** Takes all records that a record of other software represents; none if any of them is invalid. */
function takeTranslated(
  organizationId: bigint,
  { open, take, takeDeletion }: Place,
  { translations, translator }: Translating,
  source: Written,
  at: Staged,
): void {
  const made = translator.translate(source.value).map(withRealUsers);
  const taken: (() => void)[] = [];
  const takeLater: Take = (kind, record) => taken.push(() => take(kind, record));
  translations.things.beginRecord();
  for (const one of made) {
    if ('dropped' in one || 'altered' in one) continue;
    if ('deletes' in one) {
      const { deletes, ...identity } = one;
      const deletion = { ...at, ...identity };
      taken.push(() =>
        deletes === 'events' ? translations.keepDeletion(deletion) : takeDeletion(deletes, deletion),
      );
      continue;
    }
    for (const { kind, record } of translations.things.recordsOf(one, at)) takeLater(kind, record);
    if ('describes' in one) continue;
    readRecord('events', { value: fieldsOf(one), isCells: false }, at, organizationId, takeLater);
  }
  for (const takeOne of taken) takeOne();
  translations.count(made, renderPlace(open.input.name, decodePlace(at.line)));
}

/** Records that are unchanged since an earlier event are not staged again. */
function takeInto(stager: Stager, writtenOut: KnownRecords | undefined, isCut: boolean): Take {
  return (kind, record) => {
    if (writtenOut?.isNews(kind, record, isCut) ?? true) stager.add(kind, record);
  };
}

async function flush(run: StagingRun, stager: Stager): Promise<void> {
  if (takesMore(run)) await stager.flush();
  else stager.clear();
}

/** If not, the import is already refused; further records are only checked for the report. */
function takesMore({ keepsRaw, findings }: StagingRun): boolean {
  return keepsRaw || findings.count === 0;
}
