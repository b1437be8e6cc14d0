/**
 * `docs/data-dictionary.md`: every column of CSV and Parquet and every member of a points record.
 * It is generated from the fields of the representations, the OpenAPI documents and the fields of
 * imports. After a change, generate it again with `node test/server/routes/data-dictionary.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { REDACTABLE } from '../../../src/domain/redaction.ts';
import { SCHEMA } from '../../../src/ingest/fields/schema.ts';
import { EVENT_SECTIONS, LIST_FIELDS, POINTS_COLUMNS } from '../../../src/render/text/fields.ts';
import type { Variant } from '../../../src/render/text/rendered-body.ts';
import { REPRESENTATIONS } from '../../../src/render/text/representations.ts';
import type { Interface } from '../../../src/server/request/route.ts';
import { INSIGHT_TABLES, type InsightTable } from '../../../src/server/routes/insight-tables.ts';
import { INSIGHTS } from '../../../src/server/routes/insights.ts';
import { describeVariant } from '../../../src/server/routes/openapi.ts';
import { VARIANT_A } from '../../../src/server/routes/variant-a.ts';
import { VARIANT_B } from '../../../src/server/routes/variant-b.ts';

export const DOCUMENT = join(import.meta.dirname, '../../../docs/data-dictionary.md');

type Redactable = (typeof REDACTABLE)[number];
type ColumnType = 'integer' | 'text' | 'list' | 'instant' | 'boolean';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Whether the text can be empty. */
  readonly isBlank: boolean;
  /** Whether the column has no value for events without a pin. */
  readonly isOfPin: boolean;
  readonly redacted: readonly Redactable[];
  readonly meaning: string;
}

export interface ColumnTable {
  readonly heading: string;
  /** Says which responses have the columns. */
  readonly introduction: string;
  /** A path that returns them. */
  readonly path: string;
  readonly columns: readonly Column[];
}

/** The meaning of fields without a description in the OpenAPI documents. */
export const UNDESCRIBED: Readonly<Record<string, string>> = {
  'PointsRecord.total_points': '[Total points](points.md#total-points-and-participation-score).',
  'PointsRecord.participation_score':
    '[Participation score](points.md#total-points-and-participation-score).',
};

/** What each redaction of users changes. A name is redacted with the address it derives from. */
const REDACTED_FIELDS: Readonly<Record<string, readonly Redactable[]>> = {
  id: ['id'],
  user_id: ['id'],
  email: ['email', 'id'],
  name: ['name', 'email', 'id'],
  first_name: ['name', 'email', 'id'],
  last_name: ['name', 'email', 'id'],
};

interface Property {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
}
interface Component {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}
type Components = Readonly<Record<string, Component>>;

const DOCUMENTS = {
  a: describeVariant(VARIANT_A, '/a'),
  b: describeVariant(VARIANT_B, '/b'),
  insights: describeVariant(INSIGHTS, '/insights'),
};
const COMPONENTS: Readonly<Record<Interface, Components>> = {
  a: DOCUMENTS.a.components['schemas'] as Components,
  b: DOCUMENTS.b.components['schemas'] as Components,
  insights: DOCUMENTS.insights.components['schemas'] as Components,
};

interface Documented {
  readonly get: {
    readonly responses: {
      readonly 200: {
        readonly content: Readonly<
          Record<string, { readonly schema: { readonly contentSchema: { readonly items: Reference } } }>
        >;
      };
    };
  };
}
interface Reference {
  readonly $ref: string;
}

/** The component that describes a row of a table at a path such as `/a/v1/events`. */
export function describedRow(path: string, representation: 'csv' | 'parquet') {
  const variant = path.split('/')[1] as Interface;
  const { get } = DOCUMENTS[variant].paths[path.slice(`/${variant}`.length)] as Documented;
  const { items } =
    get.responses[200].content[REPRESENTATIONS[representation].mediaType]!.schema.contentSchema;
  const { properties = {}, required = [] } = COMPONENTS[variant][items.$ref.split('/').at(-1)!]!;
  return { properties, required };
}

/** The components that describe the fields of each section of an event. */
const OF_SECTION = {
  kind: 'Event',
  owner: 'Person',
  actor: 'Person',
  organization: 'Organization',
  pin: 'Pin',
  activity: 'Pin',
  board: 'BoardRef',
} as const;

/**
 * The meaning of a field: its description in the first of these components that has one, or in
 * `UNDESCRIBED`. A field that has both is refused, so that each meaning has one source.
 */
function meaningOf(components: Components, names: readonly string[], field: string): string {
  const described = names.flatMap((name) => components[name]?.properties?.[field]?.description ?? []);
  const added = names.flatMap((name) => UNDESCRIBED[`${name}.${field}`] ?? []);
  if (described.length > 0 && added.length > 0) throw new Error(`${field} has two meanings`);
  const [meaning] = [...described, ...added];
  if (meaning === undefined) throw new Error(`${field} of ${names.join(' or ')} has no meaning`);
  return meaning;
}

function typeOf({ type, format }: Property): ColumnType {
  if (format === 'date-time') return 'instant';
  if (type === 'integer' || type === 'boolean') return type;
  return type === 'array' ? 'list' : 'text';
}

/** Whether an import accepts the empty text. The activity of a pin repeats the action. */
function canBeBlank(kind: 'events' | 'users' | 'boards', name: string): boolean {
  const entry = SCHEMA[kind][name];
  if (entry === undefined) throw new Error(`${name} is no field of an import`);
  return name !== 'pin_activity' && ['text', 'long text'].includes(entry.field.type);
}

function propertyOf(components: Components, name: string, field: string): Property {
  const property = components[name]?.properties?.[field];
  if (property === undefined) throw new Error(`${name} has no ${field}`);
  return property;
}

function eventColumns(): readonly Column[] {
  const components = COMPONENTS.a;
  const column = (of: keyof typeof OF_SECTION, prefix: string, field: string): Column => ({
    name: prefix + field,
    type: typeOf(propertyOf(components, OF_SECTION[of], field)),
    isBlank: canBeBlank('events', prefix + field),
    isOfPin: OF_SECTION[of] === 'Pin',
    redacted: OF_SECTION[of] === 'Person' ? (REDACTED_FIELDS[field] ?? []) : [],
    meaning: meaningOf(components, [OF_SECTION[of]], field),
  });
  return [
    ...EVENT_SECTIONS.flatMap(({ of, prefix, fields }) => fields.map((field) => column(of, prefix, field))),
    column('kind', '', 'timestamp'),
  ];
}

function listColumns(of: 'boards' | 'users', variant: Variant): readonly Column[] {
  const components = COMPONENTS[variant];
  const names = of === 'boards' ? ['Board', 'BoardRef'] : ['User', 'Person'];
  return LIST_FIELDS[of][variant].map((field) => ({
    name: field,
    type: typeOf(propertyOf(components, names[0]!, field)),
    isBlank: canBeBlank(of, field),
    isOfPin: false,
    redacted: of === 'users' ? (REDACTED_FIELDS[field] ?? []) : [],
    meaning: meaningOf(components, names, field),
  }));
}

/** The fields of imports with which columns of points are filled that can be empty. */
const BLANK_IN_POINTS: Readonly<Record<string, readonly ['users' | 'boards', string]>> = {
  name: ['users', 'name'],
  board_title: ['boards', 'title'],
};

function pointsColumns(): readonly Column[] {
  const components = COMPONENTS.insights;
  return POINTS_COLUMNS.map((field) => ({
    name: field,
    type: typeOf(propertyOf(components, 'PointsRow', field)),
    isBlank: field in BLANK_IN_POINTS && canBeBlank(...BLANK_IN_POINTS[field]!),
    isOfPin: false,
    redacted: REDACTED_FIELDS[field] ?? [],
    meaning: meaningOf(components, ['PointsRow'], field),
  }));
}

const POINTS_INTRODUCTION = `The columns of \`/insights/v1/points\`: one row per user and board, with the members of a points
record ([below](#points-records)), the name of the user and the title of the board. Rows ascend by
\`board_id\`, then by \`user_id\`. \`start\` and \`end\` select when points were awarded, \`board\` and
\`user\` the rows ([points.md](points.md#points-as-a-table)).`;

const EVENTS_INTRODUCTION = `The columns of all [events routes](contract.md#variant-a) of both variants, and of
\`/insights/v1/events\`. Rows are in the order of time, and rows with the same time in the order of
import.

The prefix of a column says what it describes: \`owner_\` the user who owns the object, \`actor_\` the
user who acted, \`organization_\`, \`pin_\` and \`board_\` the objects themselves. In JSON and NDJSON
these are nested objects: \`owner_id\` is \`owner.id\`. Events without a pin have no member \`pin\`
there.`;

export const TABLES: readonly ColumnTable[] = [
  { heading: 'Events', introduction: EVENTS_INTRODUCTION, path: '/a/v1/events', columns: eventColumns() },
  ...(['boards', 'users'] as const).flatMap((of) =>
    (['a', 'b'] as const).map((variant) => ({
      heading: `${of === 'boards' ? 'Boards' : 'Users'}, Variant ${variant.toUpperCase()}`,
      introduction: `The columns of \`/${variant}/v1/${of}\`. Rows ascend by \`id\`.`,
      path: `/${variant}/v1/${of}`,
      columns: listColumns(of, variant),
    })),
  ),
  {
    heading: 'Points',
    introduction: POINTS_INTRODUCTION,
    path: '/insights/v1/points',
    columns: pointsColumns(),
  },
];

const BY_USER: ReadonlySet<string> = new Set(['user', 'owner', 'actor']);

/** Columns of insights that are redacted and are no fields of users. */
const REDACTED_TEXTS: Readonly<Record<string, readonly Redactable[]>> = {
  'LedgerRow.what': ['id'],
  'LedgerRow.reason': ['email', 'name', 'id'],
};

export interface InsightColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Whether the value can be missing. */
  readonly isOptional: boolean;
  readonly redacted: readonly Redactable[];
  readonly meaning: string;
}

export interface InsightColumns {
  /** Below `/insights/v1`. */
  readonly path: string;
  /** Says what a row is. */
  readonly introduction: string;
  readonly columns: readonly InsightColumn[];
}

function insightColumns({ title, columns }: InsightTable): readonly InsightColumn[] {
  const { required = [] } = COMPONENTS.insights[title]!;
  return columns.map(({ name, path }) => ({
    name,
    type: path.at(-1) === 'tags' ? 'list' : typeOf(propertyOf(COMPONENTS.insights, title, name)),
    isOptional: !required.includes(name),
    redacted: BY_USER.has(path.at(-2) ?? '')
      ? (REDACTED_FIELDS[path.at(-1)!] ?? [])
      : (REDACTED_TEXTS[`${title}.${name}`] ?? []),
    meaning: meaningOf(COMPONENTS.insights, [title], name),
  }));
}

/** The insights that have CSV and are not in `TABLES`. */
export const INSIGHTS_AS_CSV: readonly InsightColumns[] = [
  {
    path: '/activity',
    introduction: `A row for each period and series. \`people\` is the same in all rows of a period. Without \`by\` there
is one series; with it, series without events are left out. With \`by=board\`, the series of boards
beyond the first \`top\` has no board. With \`by=lms\`, the series of users without a value and that of
all values that are not shown have no label; only JSON tells them apart. The 0 of a value means no
events, or that they are in the latter series, because fewer than ten users with the value acted in
the period or because the users of that series would otherwise be fewer than ten.`,
    columns: insightColumns(INSIGHT_TABLES.activity),
  },
  {
    path: '/returning',
    introduction: 'A row for each period.',
    columns: insightColumns(INSIGHT_TABLES.returning),
  },
  {
    path: '/heat-map',
    introduction: 'A row for each hour of each day of the week, in the time zone of the request.',
    columns: insightColumns(INSIGHT_TABLES.heatMap),
  },
  {
    path: '/boards',
    introduction: 'A row for each board, in the order of the ranking.',
    columns: insightColumns(INSIGHT_TABLES.boards),
  },
  {
    path: '/users',
    introduction: 'A row for each user, in the order of the ranking.',
    columns: insightColumns(INSIGHT_TABLES.users),
  },
  {
    path: '/boards/{board-id}/attention',
    introduction: `A row for each user who needs attention, in the order of the JSON response
([points.md](points.md#who-needs-attention)).`,
    columns: insightColumns(INSIGHT_TABLES.attention),
  },
  {
    path: '/boards/{board-id}/pins',
    introduction: 'A row for each pin, most events first.',
    columns: insightColumns(INSIGHT_TABLES.pins),
  },
  {
    path: '/boards/{board-id}/interactions',
    introduction: 'A row for each actor and owner who are different users, most events first.',
    columns: insightColumns(INSIGHT_TABLES.interactions),
  },
  {
    path: '/boards/{board-id}/users/{user-id}/ledger',
    introduction: `A row for each line of the ledger, in its order ([points.md](points.md)).`,
    columns: insightColumns(INSIGHT_TABLES.ledger),
  },
];

/** The members of a points record, in order. */
export function pointsMembers(): readonly Column[] {
  const components = COMPONENTS.a;
  const fields = Object.keys(components['PointsRecord']?.properties ?? {});
  return fields.map((field) => ({
    name: field,
    type: typeOf(propertyOf(components, 'PointsRecord', field)),
    isBlank: false,
    isOfPin: false,
    redacted: REDACTED_FIELDS[field] ?? [],
    meaning: meaningOf(components, ['PointsRecord', 'Person'], field),
  }));
}

const CSV_TYPES: Readonly<Record<ColumnType, string>> = {
  integer: 'integer',
  text: 'text',
  list: 'JSON array',
  instant: 'date-time',
  boolean: 'boolean',
};

const PARQUET_TYPES: Readonly<Record<ColumnType, string>> = {
  integer: '`INT64`',
  text: '`STRING`',
  list: '`STRING` (a JSON array)',
  instant: '`TIMESTAMP(MILLIS, UTC)`',
  boolean: '`BOOLEAN`',
};

function renderInsights(): string {
  const tables = INSIGHTS_AS_CSV.map(({ path, introduction, columns }) => {
    const rows = columns.map(
      (column) =>
        `| \`${column.name}\` | ${CSV_TYPES[column.type]} | ${column.isOptional ? 'yes' : 'no'} | ${redactionOf(column)} | ${column.meaning} |`,
    );
    const head = '| column | CSV | can be missing | redacted by | meaning |\n|---|---|---|---|---|';
    return `### \`/insights/v1${path}\`\n${introduction}\n\n${head}\n${rows.join('\n')}\n`;
  });
  return `## Insights
These insights are CSV with \`?format=csv\` or the header \`Accept: text/csv\`, and have no NDJSON and
no Parquet. The rows are those of the JSON response, in its order; only the rows of \`activity\` go
period by period, while JSON goes series by series. A nested object is a prefix: \`user_id\` is
\`user.id\`. A value that can be missing is null in JSON and an empty cell in CSV; texts can also be
blank. What JSON says about all rows together is not in CSV. The other insights, \`overview\` and
\`participation\`, are JSON only. The columns of \`gradebook\` are those of the system that imports it
([gradebooks.md](gradebooks.md)).

${tables.join('\n')}`;
}

function emptiness({ isBlank, isOfPin }: Column): string {
  if (isOfPin) return isBlank ? 'blank, or no pin' : 'no pin';
  return isBlank ? 'blank' : 'no';
}

function redactionOf({ redacted }: Pick<Column, 'redacted'>): string {
  if (redacted.length === 0) return 'no';
  // With the address, only names that derive from it are redacted.
  if (redacted[0] === 'name') return '`name`; derived names also `email`, `id`';
  return redacted.map((field) => `\`${field}\``).join(', ');
}

function renderTable({ heading, introduction, columns }: ColumnTable): string {
  const rows = columns.map(
    (column) =>
      `| \`${column.name}\` | ${CSV_TYPES[column.type]} | ${PARQUET_TYPES[column.type]} | ${emptiness(column)} | ${redactionOf(column)} | ${column.meaning} |`,
  );
  const head = '| column | CSV | Parquet | empty | redacted by | meaning |\n|---|---|---|---|---|---|';
  return `## ${heading}\n${introduction}\n\n${head}\n${rows.join('\n')}\n`;
}

function renderPoints(): string {
  const rows = pointsMembers().map(
    (member) =>
      `| \`${member.name}\` | ${CSV_TYPES[member.type]} | ${emptiness(member)} | ${redactionOf(member)} | ${member.meaning} |`,
  );
  return `## Points records
The points routes of the contract (Variant A only) return JSON; they have no CSV and no Parquet. The
response is an object with one record per user or board. Read the members of the records, not the
names in the object ([points.md](points.md#the-points-map-of-a-user)). The
[gradebook recipes](recipes.md#scores-of-a-board-for-the-gradebook-of-an-lms) make a table of them.

| member | JSON | empty | redacted by | meaning |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

const INTRODUCTION = `# Data dictionary

<!-- Generated: node test/server/routes/data-dictionary.ts -->

This page lists every column of events, boards, users and points as CSV and Parquet, of the insights
as CSV, and every member of a points record. Request CSV with \`?format=csv\` and Parquet with
\`?format=parquet\`, or with the header \`Accept\` ([contract.md](contract.md#representations)). Both
formats have the same rows and columns; JSON and NDJSON have the same data under the same names.
[recipes.md](recipes.md) shows how to read them with pandas, DuckDB, R and others.

The columns have the names of the [fields of an import](import.md).

## Types
| type | in CSV | in Parquet | in DuckDB |
|---|---|---|---|
| integer | decimal digits, with a minus sign if negative | \`INT64\` | \`BIGINT\` |
| text | as it is; in double quotes where CSV requires it | \`STRING\` (UTF-8) | \`VARCHAR\` |
| JSON array | a text such as \`["style","irony"]\`; no elements are \`[]\` | \`STRING\` | \`VARCHAR\` |
| date-time | in UTC with milliseconds: \`2018-03-12T17:00:45.567+00:00\` | \`TIMESTAMP(MILLIS, UTC)\` | \`TIMESTAMP WITH TIME ZONE\` |
| boolean | \`true\` or \`false\` | | |

CSV is UTF-8 without a byte order mark. The first row contains the names of the columns, and rows
end with CRLF. With \`excel=1\`, CSV starts with a byte order mark, and texts that a spreadsheet could
run as a formula are preceded by an apostrophe ([recipes.md](recipes.md#excel-and-power-bi)).

Identifiers have 64 bits. Programs that read numbers as floating point round them beyond 2^53.

## Empty values
| empty | meaning | CSV | Parquet |
|---|---|---|---|
| no | always has a value | | |
| blank | can be the empty text | empty cell | empty text, never \`NULL\` |
| no pin | has no value for events without a pin | empty cell | \`NULL\` |

Only the columns of pins can be \`NULL\`. In CSV, a blank text of a pin and a missing pin look the
same: use \`pin_id\` to distinguish them.

## Redaction
A key can be made with \`--redact email,name,id\` ([operations.md](operations.md#privacy)). "Redacted
by" lists the settings that replace the value of a column by a stable pseudonym. Types stay the
same, and a pseudonym is never empty.

- \`id\` also redacts addresses, because imports derive addresses from ids.
- Redacting addresses also redacts **derived names**: names that reveal the address or the id
  ([decision 63](decisions.md#decision-63)).
- A redacted user has the first name \`Person\`, a pseudonym as the last name, and both as the name.
- **Limitation**: titles, texts and tags of pins and boards are shown, even if they name people.

`;

export function renderDocument(): string {
  return `${INTRODUCTION}${[...TABLES.map(renderTable), renderInsights(), renderPoints()].join('\n')}`;
}

if (import.meta.main) writeFileSync(DOCUMENT, renderDocument());
