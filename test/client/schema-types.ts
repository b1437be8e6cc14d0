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
  readonly if?: Schema;
  readonly then?: Schema;
  readonly else?: Schema;
  readonly items?: Schema;
  /** `false`: never present. */
  readonly properties?: Readonly<Record<string, Schema | false>>;
  readonly required?: readonly string[];
  readonly contentSchema?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

/** 64-bit integers become `Id`, all other integers `number` (decision 55). */
export function typeOf(schema: Schema | false): string {
  if (schema === false) return 'never';
  const { $ref, type } = schema;
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
 * Two interfaces and their union for a component with a condition (`if`, `then`, `else`) on the
 * value of one member. A member that the condition forbids is always absent. Otherwise an event
 * with a pin would be assignable to an event without one.
 */
export function splitByCondition([name, schema]: [string, Schema]): readonly [string, Schema][] {
  const { if: condition, then, else: otherwise, ...base } = schema;
  const [[member, test] = []] = Object.entries(condition?.properties ?? {});
  if (member === undefined || typeof test !== 'object') return [[name, schema]];
  const those = `${String(test.const).replace(/^./, (letter) => letter.toUpperCase())}${name}`;
  const others = `Other${name}`;
  return [
    [those, narrowed(narrowed(base, { properties: { [member]: test } }), then)],
    [others, narrowed(base, otherwise)],
    [name, { ...described(schema), anyOf: [{ $ref: those }, { $ref: others }] }],
  ];
}

function narrowed(base: Schema, { properties, required = [], ...others }: Schema = {}): Schema {
  return {
    ...{ ...base, ...others },
    properties: { ...base.properties, ...properties },
    required: [...(base.required ?? []), ...required],
  };
}

function described({ description }: Schema): Schema {
  return description === undefined ? {} : { description };
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(([name, schema]) =>
    withComment(
      schema === false ? undefined : schema.description,
      `readonly '${name}'${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
    ),
  );
  if (typeof additionalProperties === 'object') {
    members.push(`readonly [name: string]: ${typeOf(additionalProperties)};`);
  }
  return `{\n${members.join('\n')}\n}`;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

export function withComment(text: string | undefined, code: string): string {
  return text === undefined ? code : `/** ${text.replaceAll('*/', '* /')} */\n${code}`;
}
