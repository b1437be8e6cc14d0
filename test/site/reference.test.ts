/** The OpenAPI documents as the reference shows them: what its requests contain, and its code. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anchorOfOperation, type OpenApi, prepareDocument } from '../../site/reference/prepared-document.ts';
import { describeVariant } from '../../src/server/routes/openapi.ts';
import { publishedBases } from '../../src/server/routes/variants.ts';

const ORIGIN = 'http://host';
const ORIGINALS: readonly OpenApi[] = publishedBases('a')
  .filter(({ base }) => base !== '')
  .map(({ base, table }) => JSON.parse(JSON.stringify(describeVariant(table, base))));

interface Shown {
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly example?: unknown;
    readonly examples: { readonly example: { readonly value: unknown; readonly 'x-disabled': boolean } };
  }[];
  readonly 'x-codeSamples': readonly { readonly label: string; readonly source: string }[];
}

function shownOperations(original: OpenApi) {
  const prepared: OpenApi = JSON.parse(JSON.stringify(prepareDocument(original, '/x.json', ORIGIN)));
  return Object.entries(prepared.paths).map(([path, { get }]) => ({
    path,
    shown: get as unknown as Shown,
    original: original.paths[path]?.get,
  }));
}

describe('a document of the reference', () => {
  it('sends the names in the path and a limit, and shows the examples of the other parameters', () => {
    for (const document of ORIGINALS) {
      for (const { path, shown, original } of shownOperations(document)) {
        assert.equal(shown.parameters.length, original?.parameters.length);
        for (const { name, in: place, example, examples } of shown.parameters) {
          const isSent = place === 'path' || name === 'limit';
          assert.equal(examples.example['x-disabled'], !isSent, `${path}: ${name}`);
          assert.notEqual(examples.example.value, undefined, `${path}: ${name}`);
          assert.equal(example, undefined, 'the component prefers it to the examples');
        }
      }
    }
  });

  it('has code for Parquet files and live streams where the API has them, without a key', () => {
    let count = 0;
    for (const document of ORIGINALS) {
      for (const { path, shown, original } of shownOperations(document)) {
        const types = Object.keys(original?.responses['200']?.content ?? {});
        const samples = shown['x-codeSamples'];
        const labels = samples.map(({ label }) => label);
        const has = (words: string) => labels.filter((label) => label.startsWith(words)).length;
        assert.equal(has('Parquet'), types.includes('application/vnd.apache.parquet') ? 2 : 0, path);
        assert.equal(has('Live stream'), types.includes('text/event-stream') ? 2 : 0, path);
        for (const { source } of samples) {
          assert.ok(source.includes('CORKBOARD_KEY') && source.includes('http://host/'), source);
          count++;
        }
      }
    }
    assert.ok(count > 20, `${count}`);
  });

  it('links to the published document, and gives every operation a different anchor', () => {
    const anchors = ORIGINALS.flatMap((document) =>
      Object.values(document.paths).map(({ get }) => anchorOfOperation('a', get)),
    );
    assert.equal(new Set(anchors).size, anchors.length);
    assert.ok(anchors.includes('a/tag/points/getPointsOfBoardA'));
    const [first] = ORIGINALS;
    assert.ok(first !== undefined);
    assert.match(
      prepareDocument(first, '../a/openapi.json', ORIGIN).info.description,
      /^OpenAPI document: \[\/a\/openapi\.json\]\(\.\.\/a\/openapi\.json\)/,
    );
  });
});
