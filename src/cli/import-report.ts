/** The report of an import for people (decisions 30, 32). */
import { RECORD_KINDS } from '../dataset/staging.ts';
import type { ImportReport } from '../ingest/import.ts';
import { renderCell, renderTable } from './output.ts';

/** What was read, what that changes, and how it ended. */
export function renderReport(report: ImportReport): string {
  const files = report.files.map((file) => [file.name, file.kind, file.records] as const);
  const changes = RECORD_KINDS.flatMap((kind) => {
    const change = report.changes?.[kind];
    if (change === undefined || change.added + change.changed + change.unchanged === 0) return [];
    return [[kind, change.added, change.changed, change.unchanged] as const];
  });
  return [
    ...(files.length > 0 ? [renderTable(['FILE', 'HOLDS', 'RECORDS'], files), ''] : []),
    ...(changes.length > 0 ? [renderTable(['KIND', 'ADDED', 'CHANGED', 'UNCHANGED'], changes), ''] : []),
    ...renderTranslated(report),
    ...(report.passedOver.length > 0 ? [`Passed over: ${report.passedOver.map(renderCell).join(', ')}`] : []),
    ...(report.erased > 0
      ? [`Events erased, of people who are forgotten: ${renderCell(report.erased)}`]
      : []),
    ...(report.leftOut > 0
      ? [`Left out, about people who were forgotten: ${renderCell(report.leftOut)}`]
      : []),
    ...(report.rejected > 0 ? [`Rejected: ${renderCell(report.rejected)}`] : []),
    `${renderOutcome(report)} (${(report.durationMs / 1000).toFixed(1)} s)`,
  ].join('\n');
}

/** What was made of the records of other software. */
function renderTranslated({ translated }: ImportReport): string[] {
  if (translated === undefined) return [];
  const events = Object.entries(translated.events);
  const described = Object.entries(translated.described ?? {});
  const dropped = translated.dropped.map(
    ({ reason, count, examples }) => [reason, count, examples[0] ?? ''] as const,
  );
  return [
    ...(events.length > 0 ? [renderTable(['EVENT', 'RECORDS'], events), ''] : []),
    ...(described.length > 0 ? [renderTable(['DESCRIBED', 'RECORDS'], described), ''] : []),
    ...(dropped.length > 0 ? [renderTable(['DROPPED, BECAUSE IT', 'RECORDS', 'AS IN'], dropped), ''] : []),
  ];
}

function renderOutcome(report: ImportReport): string {
  switch (report.outcome) {
    case 'published':
      return `Published as version ${report.version} of ${report.organization}`;
    case 'unchanged':
      return 'Nothing has changed, so nothing was published';
    case 'checked':
      return `${report.rejected > 0 ? 'The other' : 'All'} records hold; nothing was published, as this was a dry run`;
    case 'refused':
      return 'Nothing was published';
  }
}

/** The first problems, a line each, and how many more there are. */
export function renderProblems(report: ImportReport): string {
  const lines = report.problems.map(({ file, line, field, reason }) =>
    [line > 0 ? `${file}:${line}` : file, field, reason]
      .filter((part) => part !== '')
      .map(renderCell)
      .join(': '),
  );
  const more = report.problemCount - report.problems.length;
  return [...lines, ...(more > 0 ? [`and ${renderCell(more)} more`] : [])].join('\n');
}
