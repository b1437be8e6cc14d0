/**
 * Converts schemas of the OpenAPI documents to TypeScript types. Throws if a schema has no type.
 */

/** The JSON Schema keywords that the documents use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

/** 64-bit integers become `Id`, all other integers `number` (decision 55). */
export function typeOf(schema: Schema): string {
  const { $ref, type } = schema;
  if (isNothing(schema)) return 'never';
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map(typeOf))].join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(' & ');
  if (typeof type === 'object') return type.map((one) => typeOf({ ...schema, type: one })).join(' | ');
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type;
    case 'integer':
      return schema.format === 'int64' ? 'Id' : 'number';
    case 'array':
      return `readonly (${typeOf(schema.items!)})[]`;
    case 'object':
      return objectType(schema);
    default:
      throw new Error(`there is no type for the schema ${JSON.stringify(schema)}`);
  }
}

/**
 * Distinguishes the alternatives of an `anyOf` by their members: each alternative gets the members
 * that only others have, as members that are always absent. Otherwise an event with a pin would be
 * assignable to an event without one.
 */
export function closedApart(components: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const apart: Record<string, Schema> = { ...components };
  for (const { anyOf = [] } of Object.values(components)) {
    const names = anyOf.flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? []);
    const members = new Set(names.flatMap((name) => Object.keys(components[name]?.properties ?? {})));
    for (const name of names) {
      const { properties = {}, additionalProperties } = components[name] ?? {};
      const absent = [...members].filter((member) => !(member in properties));
      if (additionalProperties !== false || absent.length === 0) continue;
      const never = Object.fromEntries(absent.map((member) => [member, { not: {} }]));
      apart[name] = { ...components[name], properties: { ...properties, ...never } };
    }
  }
  return apart;
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) =>
    withComment(
      schema.description,
      `readonly '${name}'${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
    ),
  );
  if (typeof additionalProperties === 'object') {
    members.push(`readonly [name: string]: ${typeOf(additionalProperties)};`);
  }
  return `{\n${members.join('\n')}\n}`;
}

function isNothing({ not }: Schema): boolean {
  return typeof not === 'object' && not !== null && Object.keys(not).length === 0;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

export function withComment(text: string | undefined, code: string): string {
  return text === undefined ? code : `/** ${text.replaceAll('*/', '* /')} */\n${code}`;
}
