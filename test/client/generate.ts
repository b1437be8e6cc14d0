/**
 * Generates files of `src/client/` from the OpenAPI documents and the tables of problems and
 * representations. After a change of the API, generate them again with
 * `node test/client/generate.ts`.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEM_CODES } from '../../src/domain/app-error.ts';
import { REPRESENTATIONS } from '../../src/render/text/representations.ts';
import type { VariantTable } from '../../src/server/request/route.ts';
import { INSIGHT_TABLES } from '../../src/server/routes/insight-tables.ts';
import { INSIGHTS } from '../../src/server/routes/insights.ts';
import { describeVariant, type OpenApiDocument } from '../../src/server/routes/openapi.ts';
import { VARIANT_A } from '../../src/server/routes/variant-a.ts';
import { VARIANT_B } from '../../src/server/routes/variant-b.ts';
import { type Schema, splitByCondition, typeOf, withComment } from './schema-types.ts';

const ROOT = join(import.meta.dirname, '../..');
const MADE = 'Made by test/client/generate.ts.';
const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');

/**
 * Components that the client does not read: its errors, tables, messages, which it parses, and the
 * item for the sync token, which it reads from the header.
 */
const NOT_READ: readonly string[] = [
  ...['Problem', 'EventRow', 'StreamMessage', 'Synced', 'GradebookRow'],
  ...Object.values(INSIGHT_TABLES).map(({ title }) => title),
];

/** Parameters that the client does not send. */
const NOT_SENT: readonly string[] = ['token'];

/** Every generated file and its generator. */
export const GENERATED: readonly { readonly file: string; render(): string }[] = [
  { file: 'src/client/schema-a.ts', render: () => renderSchema(VARIANT_A) },
  { file: 'src/client/schema-b.ts', render: () => renderSchema(VARIANT_B) },
  { file: 'src/client/schema-insights.ts', render: () => renderSchema(INSIGHTS) },
  { file: 'src/client/media-types.ts', render: renderMediaTypes },
  { file: 'src/client/problem-codes.ts', render: renderProblemCodes },
];

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly schema: Schema;
}

interface Operation {
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly responses: {
    readonly 200: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  };
}

/** `name` is the same in all documents, unlike the `operationId`. */
interface NamedOperation extends Operation {
  readonly name: string;
  readonly path: string;
}

function renderSchema(table: VariantTable): string {
  const document = describeVariant(table, `/${table.variant}`);
  const operations = operationsOf(document, table);
  const components = document.components['schemas'] as Record<string, Schema>;
  const paths = operations.map(({ name, path }) => `${name}: '${path}',`);
  return formatted([
    `/** Types of the requests and responses of ${document.info.title} ${document.info.version}. ${MADE} */`,
    `import type { Id } from './exact.ts';`,
    ...Object.entries(components)
      .filter(([name]) => !NOT_READ.includes(name))
      .flatMap(splitByCondition)
      .map(renderComponent),
    renderParameters(operations.flatMap(({ parameters }) => parameters)),
    `export interface Operations {\n${operations.map(renderOperation).join('\n')}\n}`,
    withComment(
      'The path of each operation, below the base URL.',
      `export const PATHS = {\n${paths.join('\n')}\n} as const satisfies Record<keyof Operations, string>;`,
    ),
  ]);
}

function renderProblemCodes(): string {
  const codes = PROBLEM_CODES.map((code) => `'${code}'`).join(' | ');
  return formatted([
    `/** Stable error codes; docs/errors.md explains them. ${MADE} */`,
    `export type ProblemCode = ${codes};`,
  ]);
}

function renderMediaTypes(): string {
  const types = Object.entries(REPRESENTATIONS).map(([name, { mediaType }]) => `'${name}': '${mediaType}',`);
  return formatted([
    `/** Media types of the representations. ${MADE} */`,
    `export const MEDIA_TYPES = {\n${types.join('\n')}\n} as const;`,
  ]);
}

/** Without the second spelling of paths that also exist without `/v1`. */
function operationsOf({ paths }: OpenApiDocument, { routes }: VariantTable): readonly NamedOperation[] {
  const described = paths as Readonly<Record<string, { readonly get: Operation }>>;
  return routes.map((route) => {
    const path = `/v1${route.path}`;
    const operation = described[path]!.get;
    const parameters = operation.parameters.filter(({ name }) => !NOT_SENT.includes(name));
    return { ...operation, parameters, name: route.operation, path };
  });
}

function renderComponent([name, schema]: [string, Schema]): string {
  const type = typeOf(schema);
  return withComment(
    schema.description,
    type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`,
  );
}

/**
 * All query parameters, each once: a parameter means the same on every route. If routes accept
 * different values, those of the route that accepts most.
 */
function renderParameters(parameters: readonly Parameter[]): string {
  const widest = new Map<string, Parameter>();
  for (const parameter of parameters.filter((one) => one.in === 'query')) {
    const { enum: values = [] } = widest.get(parameter.name)?.schema ?? {};
    if (!widest.has(parameter.name) || (parameter.schema.enum ?? []).length > values.length) {
      widest.set(parameter.name, parameter);
    }
  }
  const members = [...widest.values()].map(({ name, description, schema }) =>
    withComment(description, `readonly '${name}'?: ${typeOf(schema)};`),
  );
  return `interface Parameters {\n${members.join('\n')}\n}`;
}

function renderOperation({ name: operation, summary, parameters, responses }: NamedOperation): string {
  const names = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name, schema }) => `readonly '${name}': ${typeOf(schema)}`);
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => `'${name}'`);
  return withComment(
    `${summary}.`,
    `readonly ${operation}: {
      ${names.length === 0 ? '' : `readonly names: { ${names.join('; ')} };`}
      readonly query: Pick<Parameters, ${query.join(' | ') || 'never'}>;
      readonly answer: ${typeOf(answerOf(responses[200].content))};
    };`,
  );
}

/**
 * Lists are read as NDJSON, whose schema includes the items of change sets. CSV is read as text
 * where there is nothing else.
 */
function answerOf(content: Operation['responses'][200]['content']): Schema {
  const list = content[REPRESENTATIONS.ndjson.mediaType]?.schema.contentSchema;
  const either = list?.items?.anyOf;
  if (either !== undefined) return { ...list, items: { anyOf: either.filter(isRead) } };
  return list ?? (content[REPRESENTATIONS.json.mediaType] ?? content[REPRESENTATIONS.csv.mediaType])!.schema;
}

function isRead({ $ref = '' }: Schema): boolean {
  return !NOT_READ.includes($ref.slice($ref.lastIndexOf('/') + 1));
}

/** In the style of the formatter. */
function formatted(parts: readonly string[]): string {
  const text = parts.join('\n\n');
  const args = [BIOME, 'check', '--write', '--stdin-file-path=src/client/schema.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the formatter refuses what was generated: ${stderr}${text}`);
  return stdout;
}

if (import.meta.main) {
  for (const { file, render } of GENERATED) writeFileSync(join(ROOT, file), render());
}
