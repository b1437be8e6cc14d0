/** The parts of the OpenAPI documents that the reference shows. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: { readonly enum?: readonly string[]; readonly type?: string };
  readonly example?: string | number;
}

export interface Operation {
  /** Unique across all documents. */
  readonly id: string;
  /** Includes the base path; has `{names}` as placeholders. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly parameters: readonly Parameter[];
  readonly mediaTypes: readonly string[];
  readonly example: unknown;
}

export interface Interface {
  readonly title: string;
  readonly version: string;
  readonly operations: readonly Operation[];
}

interface OpenApi {
  readonly info: { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get?: {
          readonly operationId: string;
          readonly summary?: string;
          readonly description?: string;
          readonly tags?: readonly string[];
          readonly parameters?: readonly Parameter[];
          readonly responses: Readonly<
            Record<string, { readonly content?: Readonly<Record<string, { readonly example?: unknown }>> }>
          >;
        };
      }
    >
  >;
}

export const DOCUMENTS = ['/a/openapi.json', '/b/openapi.json', '/insights/v1/openapi.json'] as const;

export function readInterface(document: OpenApi): Interface {
  const base = document.servers[0]?.url.replace(/\/$/, '') ?? '';
  const operations = Object.entries(document.paths).flatMap(([path, { get }]): Operation[] => {
    if (get === undefined) return [];
    const content = get.responses['200']?.content ?? {};
    return [
      {
        ...{ id: get.operationId, path: base + path, parameters: get.parameters ?? [] },
        ...{ summary: get.summary ?? '', description: get.description ?? '', tag: get.tags?.[0] ?? 'Others' },
        ...{ mediaTypes: Object.keys(content), example: content['application/json']?.example },
      },
    ];
  });
  return { title: document.info.title, version: document.info.version, operations };
}

/** The path and query with the given values. Names in the path without a value stay unchanged. */
export function fillPath(operation: Operation, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams();
  let path = operation.path;
  for (const { name, in: place } of operation.parameters) {
    const value = values[name] ?? '';
    if (value === '') continue;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}
