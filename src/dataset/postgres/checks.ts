/**
 * Checks of staged records against each other and against what is published. A bad record is reported once, with
 * its first trouble, and taken out of the staging, so that what depends on it is reported too.
 */
import { AppError } from '../../app-error.ts';
import { REFERENCES, type Reference } from '../references.ts';
import type { Problem } from '../staging.ts';
import type { Settings } from '../store.ts';
import { joiningRows } from './bulk.ts';
import { literal } from './database.ts';
import type { Draft } from './draft.ts';
import type { Staging } from './staging.ts';

type Report = (problem: Problem) => void;

/** Of events, the columns with the places in `staged_names`. */
const EVENT_PLACES: Readonly<Record<string, string>> = {
  owner_id: '"owner"',
  actor_id: 'actor',
  board_id: 'board',
  pin_id: 'pin',
};

/** A value that must be unique among users or boards (decisions 9, 11). */
interface UniqueName {
  readonly kind: 'users' | 'boards';
  readonly field: string;
  /** The value in a staged record; null when it is not given, empty when it is taken away. */
  readonly staged: string;
  /** Rows (id, value) of what is published. */
  readonly published: string;
  /** What makes two values equal. */
  readonly same: (value: string) => string;
  /** Equal for equal values, and what an index can be asked for. */
  readonly key: (value: string) => string;
  /** Whether what is published is known to hold: then only what the staged records name needs to be looked at. */
  readonly holds: boolean;
}

/** `checked`: the LMS properties that were unique already when the present version was published. */
export async function checkStaged(
  draft: Draft,
  staging: Staging,
  settings: Settings,
  checked: readonly string[],
  report: Report,
): Promise<void> {
  await joiningRows(draft, staging.total, async () => {
    for (const name of uniqueNames(settings, checked)) {
      if (staging.count(name.kind) > 0 || !name.holds) await checkUnique(draft, name, report);
    }
    for (const reference of REFERENCES) {
      if (staging.count(reference.kind) > 0) await checkReference(draft, staging, reference, report);
    }
  });
}

function uniqueNames(settings: Settings, checked: readonly string[]): UniqueName[] {
  const exactly = (value: string) => `${value} COLLATE "C"`;
  const column = (kind: 'users' | 'boards', field: string, part = (value: string) => value): UniqueName => ({
    kind,
    field,
    staged: field,
    published: `SELECT id, ${field} AS value FROM ${kind}`,
    same: (value) => exactly(part(value)),
    key: (value) => `md5(${part(value)})`,
    holds: true,
  });
  return [
    {
      ...column('users', 'email', (value) => `lower(${value})`),
      // Only A to Z, whatever the locale of the database makes of other letters (decision 9).
      same: (value) => `lower(${value} COLLATE "C")`,
    },
    column('boards', 'lti_id'),
    column('boards', 'course_id'),
    ...settings.lmsUserProperties.map(
      (property): UniqueName => ({
        kind: 'users',
        field: `lms.${property}`,
        staged: `lms::json ->> ${literal(property)}`,
        published: `SELECT u.id, p.value FROM user_properties p JOIN users u ON u.ix = p.person
          WHERE p.property = ${literal(property)}`,
        same: exactly,
        key: (value) => `md5(${value})`,
        holds: checked.includes(property),
      }),
    ),
  ];
}

/**
 * Of several that would end up with the same value, the one that has it already keeps it, else the one staged first.
 * Repeats until all hold: a record that is taken out may uncover an earlier one.
 */
async function checkUnique(draft: Draft, name: UniqueName, report: Report): Promise<void> {
  const table = `staged_${name.kind}`;
  for (;;) {
    const conflicts = await draft.rows(conflictsSql(name, table));
    if (conflicts.length === 0) return;
    for (const [n, file, line, raw, id, value, holder] of conflicts) {
      const reason = `"${value}" belongs to two ${name.kind}, ${holder} and ${id}; it must be unique`;
      if (n === null || n === undefined) throw new AppError('settings-refused', `${name.field}: ${reason}.`);
      report({
        ...{ file: Number(file), line: Number(line), field: name.field, reason },
        ...(typeof raw === 'string' ? { raw } : {}),
      });
    }
    const refused = conflicts.map(([n]) => n as bigint);
    await draft.rows(`DELETE FROM ${table} WHERE n = ANY($1::bigint[])`, [refused]);
  }
}

function conflictsSql({ published, staged, same, key, holds }: UniqueName, table: string): string {
  return `
    WITH latest AS (
      SELECT DISTINCT ON (id) id, value, n FROM (SELECT id, n, ${staged} AS value FROM ${table}) given
      WHERE value IS NOT NULL ORDER BY id, n DESC
    ),
    final AS (
      SELECT l.id, l.value, l.n, coalesce(${same('p.value')} = ${same('l.value')}, false) AS incumbent
        FROM latest l LEFT JOIN (${published}) p ON p.id = l.id
      UNION ALL
      SELECT id, value, NULL, true FROM (${published}) p
        WHERE ${holds ? `${key('p.value')} IN (SELECT ${key('value')} FROM latest) AND` : ''}
          NOT EXISTS (SELECT FROM latest l WHERE l.id = p.id)
    ),
    placed AS (
      SELECT *, first_value(id) OVER holders AS holder, row_number() OVER holders AS place FROM final
      WHERE value <> ''
      WINDOW holders AS (PARTITION BY ${same('value')} ORDER BY incumbent DESC, n NULLS FIRST, id)
    )
    SELECT p.n, s.file, s.line, s.raw, p.id, p.value, p.holder
    FROM placed p LEFT JOIN ${table} s ON s.n = p.n WHERE p.place > 1 ORDER BY p.n`;
}

async function checkReference(
  draft: Draft,
  staging: Staging,
  { kind, field, to }: Reference,
  report: Report,
): Promise<void> {
  const table = `staged_${kind}`;
  const place = kind === 'events' ? EVENT_PLACES[field] : undefined;
  const key = place ?? field;
  // Many records name few things: to look up each thing once is what makes the check quick.
  const named =
    place === undefined
      ? `SELECT DISTINCT ${field} AS key, ${field} AS id FROM ${table} WHERE ${field} IS NOT NULL`
      : `SELECT number AS key, id FROM staged_names WHERE thing = '${to}'`;
  const missing = `
    SELECT key, id FROM (${named}) named
    WHERE NOT EXISTS (SELECT FROM ${to} t WHERE t.id = named.id)
      AND NOT EXISTS (SELECT FROM staged_${to} s WHERE s.id = named.id)`;
  const [found] = await draft.count([`(${missing})`]);
  if (found === 0) return;
  staging.reduce(kind);
  await draft.keep('missing', missing);
  await draft.keep(
    'dangling',
    `SELECT n, file, line, m.id AS target, raw FROM ${table} s JOIN missing m ON m.key = s.${key}`,
  );
  const rows = draft.session.columns(
    `SELECT file, line, target, coalesce(raw, ''), (raw IS NOT NULL)::integer FROM dangling ORDER BY n`,
    ['int4', 'int8', 'int8', 'text', 'int4'],
  );
  for await (const { count, columns } of rows) {
    const [files, lines, targets, raws, hasRaws] = columns;
    for (let at = 0; at < count; at++) {
      const reason = `there is no ${to.slice(0, -1)} ${targets[at]}, here or among the published`;
      report({
        ...{ file: Number(files[at]), line: Number(lines[at]), field, reason },
        ...(hasRaws[at] === 1 ? { raw: raws[at] } : {}),
      });
    }
  }
  await draft.run(`DELETE FROM ${table} WHERE n IN (SELECT n FROM dangling)`);
}
