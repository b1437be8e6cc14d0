/**
 * The OpenAPI 3.1 document of a variant, made from its route table, parameters, schemas and
 * problems.
 */
import type { TSchema } from 'typebox';
import { isText, LISTED, REPRESENTATIONS, type Representation } from '../../render/text/representations.ts';
import { PARAMETERS } from '../request/parameters.ts';
import type { PathName, Route, VariantTable } from '../request/route.ts';
import {
  OTHER_REFUSALS,
  problemExamples,
  RATE_LIMIT_HEADERS,
  REFUSALS,
  RESPONSE_HEADERS,
} from './openapi-parts.ts';
import { Problem } from './schemas.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<'title' | 'version' | 'description', string>> &
    Readonly<Record<string, unknown>>;
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly security: readonly unknown[];
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, unknown>>;
}

const DESCRIPTION = `Read-only data of a social-learning community: interaction events, boards, users and points of one organization. Send an API key of the organization in the header \`apikey\`, or as \`Authorization: Bearer KEY\`. A key can be restricted to some boards and users; everything else is then reported as not found.

Every refusal is a problem document; programs read its \`code\`. Refusals that do not depend on the route (${OTHER_REFUSALS.statuses.join(', ')}) are described once, as \`default\`. Later versions can add members to objects: ignore those that you do not know.`;

const TAGS = [
  { name: 'Insights', description: 'Analytics of events, boards and people.' },
  { name: 'Events', description: 'Interactions: a pin visited, a board followed, and so on.' },
  { name: 'Boards', description: 'The boards of the organization.' },
  { name: 'Users', description: 'The users of the organization.' },
  { name: 'Points', description: 'Point totals and participation scores of users on boards.' },
];

/** How a body that is not JSON contains its items. */
const FRAMES: Readonly<Partial<Record<Representation, string>>> = {
  ndjson: 'One JSON value per line.',
  csv: 'The first row has the names of the columns, in the order of the schema.',
  parquet: 'The columns of the schema, as INT64 and STRING.',
  'event-stream': 'Messages, each ended by an empty line. The response does not end.',
};

/**
 * `base` is the path of the variant, without a slash at its end; `version` is that of the product,
 * absent: the document does not tell it.
 */
export function describeVariant(table: VariantTable, base: string, version?: string): OpenApiDocument {
  const components = new Map<string, unknown>();
  const paths: Record<string, unknown> = {};
  for (const route of table.routes) {
    const operationId = `${route.operation}${operationSuffix(table, base)}`;
    paths[`/v1${route.path}`] = { get: describeRoute(route, operationId, components) };
    if (table.unversioned.includes(route.path)) {
      paths[route.path] = { get: describeRoute(route, `${operationId}Unversioned`, components) };
    }
  }
  refer(Problem, components);
  const responses = referredTo('responses', describeRefusals(), paths);
  const used = new Set(table.routes.map((route) => route.tag));
  return {
    openapi: '3.1.0',
    info: {
      title: table.title,
      version: table.version,
      description: DESCRIPTION,
      contact: { name: 'The operator of this server' },
      ...(version !== undefined && { 'x-corkboard-version': version }),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: base === '' ? '/' : base, description: 'This server' }],
    tags: TAGS.filter((tag) => used.has(tag.name)),
    security: [{ apikey: [] }, { bearer: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(components),
      headers: referredTo('headers', RESPONSE_HEADERS, [paths, responses]),
      responses,
      securitySchemes: {
        apikey: { type: 'apiKey', in: 'header', name: 'apikey', description: 'API key of the organization.' },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The same key, as a bearer token (RFC 6750).',
        },
      },
    },
  };
}

/** Makes the ids unique across all documents, so that these can be merged. */
function operationSuffix({ variant }: VariantTable, base: string): string {
  return variant === 'insights' || base === '' ? '' : variant.toUpperCase();
}

function describeRoute(route: Route, operationId: string, components: Map<string, unknown>): unknown {
  const link = route.parameters.includes('cursor') ? ['Link'] : [];
  const sync = route.parameters.includes('since') ? ['Sync-Token'] : [];
  const shown = ['ETag', 'Cache-Control', 'Data-Version', 'Vary'];
  const file = route.fileName === undefined ? [] : ['Content-Disposition'];
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    parameters: [
      ...route.names.map(describeName),
      ...route.parameters.map((name) => describeParameter(name, route)),
    ],
    responses: {
      200: {
        description: 'The requested data.',
        headers: describeHeaders([
          ...[...shown, ...link, ...sync, 'Accept-Ranges'],
          ...[...file, ...RATE_LIMIT_HEADERS],
        ]),
        content: describeContent(route, components),
      },
      304: {
        description: 'The response has not changed since the client stored it.',
        headers: describeHeaders([...shown, ...sync, ...RATE_LIMIT_HEADERS]),
      },
      ...Object.fromEntries(
        REFUSALS.filter(({ statuses }) => statuses.some((status) => canRefuse(route, status))).map(
          ({ statuses, name }) => [statuses[0], { $ref: `#/components/responses/${name}` }],
        ),
      ),
      default: { $ref: `#/components/responses/${OTHER_REFUSALS.name}` },
    },
  };
}

/** 403 is for LMS properties and for names of users, 404 for names in the request. */
function canRefuse({ of, names, parameters, namesUsers }: Route, status: number): boolean {
  if (status === 403) {
    const usesProperty = parameters.includes('property') || names.some(({ name }) => name === 'prop');
    return namesUsers === true || usesProperty;
  }
  if (status !== 404) return true;
  return of !== 'organization' || parameters.includes('board') || parameters.includes('user');
}

function describeContent(route: Route, components: Map<string, unknown>): unknown {
  return Object.fromEntries(
    route.representations.map((representation) => {
      const { mediaType } = REPRESENTATIONS[representation];
      if (representation === 'json') {
        return [mediaType, { schema: refer(route.response, components), example: route.example }];
      }
      const item = route.items?.[representation];
      if (item === undefined) throw new Error(`${route.path} does not say what ${representation} repeats`);
      // OpenAPI 3.1 requires no type here, but without one client generators merge all
      // representations into a value of any type.
      const schema = {
        ...{ type: 'string', ...(isText(representation) ? {} : { format: 'binary' }) },
        ...{ description: FRAMES[representation], contentMediaType: mediaType },
        contentSchema: { type: 'array', items: refer(item, components) },
      };
      return [mediaType, { schema }];
    }),
  );
}

function describeName({ name, type, description, example }: PathName): unknown {
  const schema =
    type === 'identifier' ? { type: 'integer', format: 'int64' } : { type: 'string', minLength: 1 };
  return { name, in: 'path', required: true, description, schema, example };
}

function describeParameter(name: keyof typeof PARAMETERS, { representations }: Route): unknown {
  const { schema, description, example } = PARAMETERS[name];
  const form = name === 'format' ? { ...schema, enum: formatsOf(representations) } : schema;
  return { name, in: 'query', description, schema: plain(form), example };
}

/** The values of `format` that a route does not refuse. */
function formatsOf(representations: readonly Representation[]): readonly Representation[] {
  return LISTED.filter((name) => representations.includes(name));
}

function describeHeaders(names: readonly string[]): unknown {
  const always = ['X-Request-Id', 'Server-Timing'];
  return Object.fromEntries(
    [...names, ...always].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

/** The components that other parts of the document refer to. */
function referredTo(kind: string, components: object, others: unknown): object {
  const text = JSON.stringify(others);
  const used = ([name]: [string, unknown]) => text.includes(`"#/components/${kind}/${name}"`);
  return Object.fromEntries(Object.entries(components).filter(used));
}

function describeRefusals(): object {
  return Object.fromEntries(
    [...REFUSALS, OTHER_REFUSALS].map(({ name, statuses, description, headers }) => [
      name,
      {
        description,
        headers: describeHeaders(headers),
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: problemExamples(statuses),
          },
        },
      },
    ]),
  );
}

function plain(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema));
}

/**
 * The schema as JSON. Every part with a title is replaced by a reference to the component of that
 * name.
 */
function refer(schema: TSchema, components: Map<string, unknown>): unknown {
  return replaceTitled(plain(schema), components);
}

function replaceTitled(node: unknown, components: Map<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((item) => replaceTitled(item, components));
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, replaceTitled(value, components)]),
  );
  // A property may also be named "title"; the title of a schema is a string.
  if (!('title' in node) || typeof node.title !== 'string') return copy;
  components.set(node.title, copy);
  return { $ref: `#/components/schemas/${node.title}` };
}
