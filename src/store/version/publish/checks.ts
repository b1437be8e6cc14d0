/**
 * Checks staged records against each other and against the published data. An invalid record is
 * reported once, with its first problem, and removed from the staged ones, so that records that
 * depend on it are reported too, as its consequences.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { AppError } from '../../../domain/app-error.ts';
import { quoted } from '../../../domain/shortened-text.ts';
import { REFERENCES, type Reference } from '../../references.ts';
import type { NameRecord, StagedProblem } from '../../staging.ts';
import type { Settings } from '../../store.ts';
import { fillTemporary, runRows, type StatementParameters } from '../database.ts';
import { bytesOfTexts } from '../long-texts.ts';
import { portionsIn } from '../portions.ts';
import { countStaged } from './staging-tables.ts';

interface Reporting {
  readonly report: (problem: StagedProblem) => void;
  readonly nameOf: NameRecord;
}

/** A value that must be unique among users or boards (decisions 9, 11). */
interface UniqueName {
  readonly kind: 'users' | 'boards';
  readonly field: string;
  /** The value in a staged record; null when it is not given, empty when it is removed. */
  readonly staged: string;
  /** The published rows (id, value). */
  readonly published: string;
  /** SQL that maps equal values to the same text. */
  readonly same: (value: string) => string;
  /**
   * Whether the published values are known to be unique. Then only those that staged records
   * contain are checked.
   */
  readonly holds: boolean;
  readonly parameters: StatementParameters;
}

/** `checked`: the LMS properties that were checked for the current version. */
export async function checkStaged(
  connection: DuckDBConnection,
  settings: Settings,
  checked: readonly string[],
  reporting: Reporting,
): Promise<void> {
  await connection.run('CREATE OR REPLACE TEMP TABLE refused (kind VARCHAR, id BIGINT)');
  const staged = await countStaged(connection);
  for (const name of uniqueNames(settings, checked)) {
    if (staged[name.kind] > 0 || !name.holds) await checkUnique(connection, name, reporting);
  }
  for (const reference of REFERENCES) {
    if (staged[reference.kind] > 0) await checkReference(connection, reference, reporting);
  }
}

function uniqueNames(settings: Settings, checked: readonly string[]): UniqueName[] {
  const exactly = (value: string) => value;
  const column = (kind: 'users' | 'boards', field: string, same = exactly): UniqueName => ({
    kind,
    field,
    staged: field,
    published: `SELECT id, ${field} AS value FROM ${kind}`,
    same,
    holds: true,
    parameters: {},
  });
  return [
    column('users', 'email', smallAscii),
    column('boards', 'lti_id'),
    column('boards', 'course_id'),
    ...settings.lmsUserProperties.map(
      (property): UniqueName => ({
        kind: 'users',
        field: `lms.${property}`,
        staged: '(lms::JSON::MAP(VARCHAR, VARCHAR))[$property]',
        published: `SELECT u.id, p.value FROM user_properties p JOIN users u ON u.ix = p.person
        WHERE p.property = $property`,
        same: exactly,
        holds: checked.includes(property),
        parameters: { property },
      }),
    ),
  ];
}

/**
 * Converts A to Z to lower case (decision 9). `lower` is fast, but also changes other letters: `İ`
 * becomes `i`.
 */
function smallAscii(value: string): string {
  const isAscii = `strlen(${value}) = length(${value})`;
  const letters = `'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'`;
  return `CASE WHEN ${isAscii} THEN lower(${value}) ELSE translate(${value}, ${letters}) END`;
}

/**
 * If several records would end up with the same value, the one that already has it keeps it, or
 * else the one staged first. Repeats until there is no conflict, because removing a record may
 * uncover an earlier one.
 */
async function checkUnique(
  connection: DuckDBConnection,
  name: UniqueName,
  { report, nameOf }: Reporting,
): Promise<void> {
  const { kind } = name;
  const table = `staged_${name.kind}`;
  const named = `WHERE ${name.same('value')} IN (SELECT ${name.same('value')} FROM latest)`;
  for (;;) {
    const conflicts = await runRows(
      connection,
      `WITH published AS (${name.published}),
       given AS (SELECT id, n, ${name.staged} AS value FROM ${table}),
       latest AS (SELECT id, arg_max(value, n) AS value, max(n) AS n FROM given WHERE value IS NOT NULL GROUP BY id),
       final AS (
         SELECT l.id, l.value, l.n, coalesce(${name.same('p.value')} = ${name.same('l.value')}, false) AS incumbent
           FROM latest l LEFT JOIN published p ON p.id = l.id
         UNION ALL SELECT id, value, NULL, true FROM (FROM published ${name.holds ? named : ''})
           ANTI JOIN latest USING (id)
       ),
       placed AS (
         SELECT *, first(id) OVER holders AS holder, first(n) OVER holders AS holder_n,
           row_number() OVER holders AS place
         FROM final
         WHERE value IS NOT NULL AND value <> ''
         WINDOW holders AS (PARTITION BY ${name.same('value')} ORDER BY incumbent DESC, n NULLS FIRST, id)
       )
       SELECT p.n, s.file, s.line, s.raw, p.id, p.value, p.holder, h.file, h.line
       FROM placed p LEFT JOIN ${table} s ON s.n = p.n LEFT JOIN ${table} h ON h.n = p.holder_n
       WHERE p.place > 1 ORDER BY p.n`,
      name.parameters,
    );
    if (conflicts.length === 0) return;
    for (const [n, file, line, raw, id, value, holder, holderFile, holderLine] of conflicts) {
      const holderName = nameOf(kind, idOf(holder), placeOf(holderFile, holderLine));
      const names = `${holderName} and ${nameOf(kind, idOf(id), placeOf(file, line))}`;
      const reason = `${quoted(String(value))} belongs to two ${kind}, ${names}; it must be unique`;
      if (n === null || n === undefined) throw new AppError('settings-refused', `${name.field}: ${reason}.`);
      report(problem(file, line, name.field, reason, raw));
    }
    const ids = conflicts.map(([, , , , id]) => idOf(id));
    await runRows(connection, 'INSERT INTO refused SELECT $kind, unnest($ids)', { kind, ids });
    const refused = conflicts.map(([n]) => BigInt(Number(n)));
    await runRows(connection, `DELETE FROM ${table} WHERE n IN (SELECT unnest($refused))`, { refused });
  }
}

async function checkReference(
  connection: DuckDBConnection,
  reference: Reference,
  { report, nameOf }: Reporting,
): Promise<void> {
  const { kind, field, to } = reference;
  const table = `staged_${kind}`;
  // Many records refer to few ids, so looking up each id once makes the check fast.
  const missing = await fillTemporary(
    connection,
    'missing',
    `FROM (SELECT DISTINCT ${field} AS id FROM ${table} WHERE ${field} IS NOT NULL)
       ANTI JOIN ${to} USING (id) ANTI JOIN staged_${to} USING (id)`,
  );
  if (missing === 0) return;
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE dangling AS
     SELECT n, file, line, ${field} AS target, raw,
       ${field} IN (SELECT id FROM refused WHERE kind = '${to}') AS is_consequence
     FROM ${table} WHERE ${field} IN (SELECT id FROM missing)`,
  );
  const dangling = { source: 'dangling', key: 'n', size: bytesOfTexts(['raw']) };
  for (const portion of await portionsIn(connection, dangling)) {
    const sql = `SELECT file, line, target, raw, is_consequence FROM dangling WHERE ${portion} ORDER BY n`;
    for await (const rows of (await connection.stream(sql)).yieldRows()) {
      for (const [file, line, target, raw, isConsequence] of rows) {
        const name = `${to.slice(0, -1)} ${nameOf(to, idOf(target))}`;
        const reason = isConsequence
          ? `the ${name} is refused`
          : `there is no ${name}, here or among the published`;
        report({
          ...problem(file, line, field, reason, raw),
          ...(isConsequence === true && { isConsequence }),
        });
      }
    }
  }
  if (kind === 'pins') {
    await connection.run(
      `INSERT INTO refused SELECT 'pins', id FROM ${table} WHERE n IN (SELECT n FROM dangling)`,
    );
  }
  await connection.run(`DELETE FROM ${table} WHERE n IN (SELECT n FROM dangling)`);
}

function idOf(id: DuckDBValue | undefined): bigint {
  return BigInt(String(id));
}

/** Undefined for a record that is not staged. */
function placeOf(file: DuckDBValue | undefined, line: DuckDBValue | undefined) {
  return line === null || line === undefined ? undefined : { file: Number(file), line: Number(line) };
}

function problem(
  file: DuckDBValue | undefined,
  line: DuckDBValue | undefined,
  field: string,
  reason: string,
  raw: DuckDBValue | undefined,
): StagedProblem {
  return {
    file: Number(file),
    line: Number(line),
    field,
    reason,
    ...(typeof raw === 'string' ? { raw } : {}),
  };
}
