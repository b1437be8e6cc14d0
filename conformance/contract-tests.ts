/**
 * Contract tests that Portman generates from a document and newman runs: every operation unchanged,
 * and with variations that the server must refuse with each status that a client can cause.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from './product.ts';
import type { Report } from './report.ts';
import { programOf, runTool } from './tool.ts';

const ALL = '*::/*';
const CONFORMS = ['contentType', 'jsonBody', 'schemaValidation'];

/** The report file of newman. */
interface Summary {
  readonly run: {
    readonly executions: readonly {
      readonly item: { readonly name: string };
      readonly assertions?: readonly {
        readonly assertion: string;
        readonly error?: { readonly message: string };
      }[];
    }[];
    readonly failures: readonly { readonly error: { readonly message: string } }[];
  };
}

export async function runContractTests(target: Target, folder: string, report: Report): Promise<void> {
  const name = target.title.replaceAll(' ', '-').toLowerCase();
  const files = {
    settings: join(folder, `${name}-portman.json`),
    collection: join(folder, `${name}-collection.json`),
    summary: join(folder, `${name}-summary.json`),
  };
  await writeFile(files.settings, JSON.stringify(describeTests(target)));
  const made = await runTool(
    [
      ...[programOf('portman'), '--local', target.closedPath, '--baseUrl', target.baseUrl],
      ...['--portmanConfigFile', files.settings, '--output', files.collection],
    ],
    folder,
  );
  if (made.code !== 0) {
    report.fail(`Portman, ${target.title}: the tests cannot be made`, made.output);
    return;
  }
  const ran = await runTool(
    [
      ...[programOf('newman'), 'run', files.collection, '--reporters', 'json'],
      ...['--reporter-json-export', files.summary],
    ],
    folder,
  );
  const { run }: Summary = JSON.parse(await readFile(files.summary, 'utf8'));
  let told = 0;
  for (const { item, assertions = [] } of run.executions) {
    for (const { assertion, error } of assertions) {
      const line = `Portman, ${target.title}: ${item.name}: ${assertion}`;
      if (error === undefined) report.pass(line);
      else report.fail(line, error.message);
      told += 1;
    }
  }
  if (told === 0) report.fail(`Portman, ${target.title}: nothing was tested`, ran.output);
  else if (ran.code !== 0 && run.failures.length === 0) report.fail(`newman, ${target.title}`, ran.output);
}

/**
 * The settings of Portman (see its README). Lists are shortened, because newman keeps every body as
 * text.
 */
function describeTests({ key, pathValues, document }: Target): unknown {
  const paged = pagedOperations(document);
  const query = (name: string, value: string) => ({
    overwriteRequestQueryParams: [{ key: name, value, insert: true, overwrite: true }],
  });
  const path = (values: readonly (readonly [string, string])[]) => ({
    overwriteRequestPathVariables: values.map(([name, value]) => ({ key: name, value, insert: false })),
  });
  const accept = (value: string) => ({
    overwriteRequestHeaders: [{ key: 'Accept', value, insert: true, overwrite: true }],
  });
  const absent = Object.keys(pathValues).map((name) => [name, '404404404'] as const);
  const variations = [
    { name: 'Page', response: '200', of: paged, overwrite: query('limit', '3') },
    { name: 'UnknownParameter', response: '400', of: [ALL], overwrite: query('stat', '1') },
    { name: 'MalformedParameter', response: '400', of: [ALL], overwrite: query('end', 'soon') },
    { name: 'NoKey', response: '401', of: [ALL], overwrite: { overwriteRequestSecurity: apiKey('') } },
    { name: 'BadKey', response: '401', of: [ALL], overwrite: { overwriteRequestSecurity: apiKey('x') } },
    { name: 'NoSuchThing', response: '404', of: namedOperations(document), overwrite: path(absent) },
    { name: 'NotAcceptable', response: '406', of: [ALL], overwrite: accept('image/png') },
  ];
  return {
    version: 1,
    globals: { securityOverwrites: apiKey(key) },
    overwrites: [
      { openApiOperation: ALL, ...path(Object.entries(pathValues)) },
      ...Object.entries(document.paths).map(([path, { get }]) => ({
        openApiOperation: `GET::${path}`,
        // The files of gradebooks are CSV only.
        ...accept(get.responses['200']?.content?.[JSON_TYPE] === undefined ? 'text/csv' : JSON_TYPE),
      })),
      ...paged.map((openApiOperation) => ({ openApiOperation, ...query('limit', '50') })),
    ],
    tests: {
      contractTests: ['statusSuccess', ...CONFORMS].map((test) => ({
        openApiOperation: ALL,
        [test]: enabled,
      })),
      variationTests: variations.flatMap(({ name, response, of, overwrite }) =>
        of.map((openApiOperation) => ({
          openApiOperation,
          openApiResponse: response,
          variations: [
            {
              name,
              overwrites: [overwrite],
              tests: {
                contractTests: [
                  { statusCode: { enabled: true, code: Number(response) } },
                  ...CONFORMS.map((test) => ({ [test]: enabled })),
                ],
              },
            },
          ],
        })),
      ),
    },
  };
}

const JSON_TYPE = 'application/json';
const enabled = { enabled: true };

function apiKey(value: string) {
  return { apiKey: { key: 'apikey', value, in: 'header' } };
}

/** Operations with names in their path. */
function namedOperations(document: Target['document']): readonly string[] {
  return Object.keys(document.paths)
    .filter((path) => path.includes('{'))
    .map((path) => `GET::${path}`);
}

function pagedOperations(document: Target['document']): readonly string[] {
  return Object.entries(document.paths)
    .filter(([, { get }]) => get.parameters.some(({ name }) => name === 'limit'))
    .map(([path]) => `GET::${path}`);
}
