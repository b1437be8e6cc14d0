/** The report of an import for people (decisions 30, 32). */

import type { RecordsByReason } from '../../ingest/external-format.ts';
import type { ImportReport } from '../../ingest/import.ts';
import { renderPlace } from '../../ingest/records/record-place.ts';
import { RECORD_KINDS } from '../../store/staging.ts';
import { renderCell, renderTable } from './output.ts';

/** The files read, the changes that they make, and the outcome. */
export function renderReport(report: ImportReport): string {
  return [
    ...renderFiles(report),
    ...renderChanges(report),
    ...renderTranslated(report),
    ...(report.settings.length > 0
      ? [
          report.settingsTaken
            ? `Imported settings: ${renderNames(report.settings)}`
            : `Settings not imported without --settings: ${renderNames(report.settings)}`,
        ]
      : []),
    ...(report.passedOver.length > 0 ? [`Ignored files: ${renderNames(report.passedOver)}`] : []),
    ...(report.erased > 0 ? [`Erased events of forgotten users: ${renderCell(report.erased)}`] : []),
    ...(report.leftOut > 0 ? [`Ignored records about forgotten users: ${renderCell(report.leftOut)}`] : []),
    ...(report.expired > 0
      ? [`Ignored events that are too old to be kept: ${renderCell(report.expired)}`]
      : []),
    ...(report.rejected > 0 ? [`Rejected records: ${renderCell(report.rejected)}`] : []),
    `${renderOutcome(report)} (${(report.durationMs / 1000).toFixed(1)} s)`,
  ].join('\n');
}

function renderChanges({ changes }: ImportReport): string[] {
  const kinds = RECORD_KINDS.flatMap((kind) => {
    const { added = 0, changed = 0, unchanged = 0, deleted = 0 } = changes?.[kind] ?? {};
    return added + changed + unchanged + deleted === 0
      ? []
      : [{ deleted, cells: [kind, added, changed, unchanged] }];
  });
  if (kinds.length === 0) return [];
  const heading = ['KIND', 'ADDED', 'CHANGED', 'UNCHANGED'];
  const deletes = kinds.some(({ deleted }) => deleted > 0);
  const rows = kinds.map(({ cells, deleted }) => (deletes ? [...cells, deleted] : cells));
  return [renderTable(deletes ? [...heading, 'DELETED'] : heading, rows), ''];
}

/** More files than this are summarized by their content. */
const FILES_LISTED = 20;
const NAMES_LISTED = 10;

function renderFiles({ files }: ImportReport): string[] {
  if (files.length === 0) return [];
  if (files.length <= FILES_LISTED) {
    const rows = files.map(({ name, kind, records }) => [name, kind, records] as const);
    return [renderTable(['FILE', 'CONTENT', 'RECORDS'], rows), ''];
  }
  const rows = [...Map.groupBy(files, ({ kind }) => kind)].map(
    ([kind, of]) => [kind, of.length, of.reduce((sum, { records }) => sum + records, 0)] as const,
  );
  return [renderTable(['CONTENT', 'FILES', 'RECORDS'], rows), ''];
}

function renderNames(names: readonly string[]): string {
  const more = names.length - NAMES_LISTED;
  const listed = names.slice(0, NAMES_LISTED).map(renderCell).join(', ');
  return more > 0 ? `${listed} and ${renderCell(more)} more` : listed;
}

const UNLISTED =
  'Each of these words is an action of its own, for which only rules of your own give points. Use --mapping to give it another action, or to drop it.';

/** The events that records of other software became, and the records that were dropped. */
function renderTranslated({ translated }: ImportReport): string[] {
  if (translated === undefined) return [];
  const events = Object.entries(translated.events);
  const unlisted = Object.entries(translated.unlisted ?? {});
  const described = Object.entries(translated.described ?? {});
  const deleted = Object.entries(translated.deleted ?? {});
  const assumed = translated.assumed?.map(({ assumption, ...places }) => ({ reason: assumption, ...places }));
  const byReason = (head: readonly string[], records: readonly RecordsByReason[] = []) => {
    const rows = records.map(({ reason, count, examples }) => [reason, count, examples[0] ?? ''] as const);
    return rows.length > 0 ? [renderTable([...head, 'EXAMPLE'], rows), ''] : [];
  };
  return [
    ...byReason(['ASSUMPTION', 'LINES'], assumed),
    ...(events.length > 0 ? [renderTable(['EVENT', 'RECORDS'], events), ''] : []),
    ...(unlisted.length > 0 ? [renderTable(['WORD IN NO TABLE', 'RECORDS'], unlisted), UNLISTED, ''] : []),
    ...(described.length > 0 ? [renderTable(['DESCRIBED', 'RECORDS'], described), ''] : []),
    ...(deleted.length > 0 ? [renderTable(['DELETED', 'RECORDS'], deleted), ''] : []),
    ...byReason(['ALTERED BECAUSE IT', 'RECORDS'], translated.altered),
    ...byReason(['DROPPED BECAUSE IT', 'RECORDS'], translated.dropped),
  ];
}

function renderOutcome(report: ImportReport): string {
  switch (report.outcome) {
    case 'published':
      return `Published as version ${report.version} of ${report.organization}`;
    case 'unchanged':
      return 'Nothing has changed; nothing was published';
    case 'checked':
      return `${report.rejected > 0 ? 'The other' : 'All'} records are valid; nothing was published (dry run)`;
    case 'refused':
      return 'Nothing was published';
  }
}

/** The first findings, one per line, and the number of further findings. */
export function renderProblems(report: ImportReport): string {
  const lines = report.problems.map(({ file, field, reason, ...place }) =>
    [renderPlace(file, place), field, reason]
      .filter((part) => part !== '')
      .map(renderCell)
      .join(': '),
  );
  const more = report.problemCount - report.problems.length;
  const least = report.problemCountIsLeast ? 'at least ' : '';
  return [...lines, ...(more > 0 ? [`and ${least}${renderCell(more)} more`] : [])].join('\n');
}
