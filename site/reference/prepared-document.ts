/**
 * An OpenAPI document as the component shows it. The component puts every parameter that has an
 * example into its requests, and writes code for JSON only.
 */
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
}

interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

const PARQUET = 'application/vnd.apache.parquet';
const EVENT_STREAM = 'text/event-stream';
/** Its example keeps a first request short. */
const LIMIT = 'limit';

/** `url` is the address of the document, `origin` that of the server. */
export function prepareDocument(document: OpenApi, url: string, origin: string): OpenApi {
  const base = origin + (document.servers[0]?.url ?? '').replace(/\/$/, '');
  const paths = Object.entries(document.paths).map(([path, { get }]) => [
    path,
    {
      get: {
        ...get,
        parameters: get.parameters.map(prepareParameter),
        'x-codeSamples': samplesOf(get, base + fillPath(path, get)),
      },
    },
  ]);
  const { info } = document;
  const description = `OpenAPI document: [${url.replace('../', '/')}](${url})\n\n${info.description}`;
  return { ...document, info: { ...info, description }, paths: Object.fromEntries(paths) };
}

/** Examples of optional parameters are shown, and are sent only if the reader switches them on. */
function prepareParameter({ example, ...parameter }: Parameter): object {
  const isOff = parameter.in !== 'path' && parameter.name !== LIMIT;
  return { ...parameter, examples: { example: { value: example, 'x-disabled': isOff } } };
}

function fillPath(path: string, { parameters }: Operation): string {
  return parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (filled, { name, example }) => filled.replace(`{${name}}`, encodeURIComponent(String(example))),
      path,
    );
}

function samplesOf({ responses }: Operation, url: string): readonly CodeSample[] {
  const types = Object.keys(responses['200']?.content ?? {});
  return [
    ...(types.includes(PARQUET) ? parquetSamples(url) : []),
    ...(types.includes(EVENT_STREAM) ? streamSamples(url) : []),
  ];
}

function parquetSamples(url: string): readonly CodeSample[] {
  return [
    {
      ...{ lang: 'shell', label: 'Parquet file: curl' },
      source: `curl --header "apikey: $CORKBOARD_KEY" --output data.parquet '${url}?format=parquet'`,
    },
    {
      ...{ lang: 'python', label: 'Parquet: pandas' },
      source: `import io
import os
import pandas
import requests

response = requests.get(
    "${url}",
    params={"format": "parquet"},
    headers={"apikey": os.environ["CORKBOARD_KEY"]},
)
response.raise_for_status()
table = pandas.read_parquet(io.BytesIO(response.content))`,
    },
  ];
}

function streamSamples(url: string): readonly CodeSample[] {
  return [
    {
      ...{ lang: 'shell', label: 'Live stream: curl' },
      source: `curl --no-buffer --header "apikey: $CORKBOARD_KEY" --header 'Accept: ${EVENT_STREAM}' '${url}'`,
    },
    {
      ...{ lang: 'python', label: 'Live stream: requests' },
      source: `import os
import requests

with requests.get(
    "${url}",
    headers={"apikey": os.environ["CORKBOARD_KEY"], "Accept": "${EVENT_STREAM}"},
    stream=True,
) as response:
    response.raise_for_status()
    for line in response.iter_lines(decode_unicode=True):
        print(line)`,
    },
  ];
}

/** The anchor that the component gives to an operation. */
export function anchorOfOperation(slug: string, { tags, operationId }: Operation): string {
  return `${slug}/tag/${tags[0]?.toLowerCase()}/${operationId}`;
}
