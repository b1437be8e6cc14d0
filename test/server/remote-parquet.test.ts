/** Real events as Parquet, of which a reader that is not ours fetches only the bytes it needs. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { type AsyncBuffer, asyncBufferFromUrl, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';
import { folderOf, whyWithout } from '../real-data.ts';

const skip = whyWithout('oulad');
const [START, END] = ['2014-03-01T00:00:00.000Z', '2014-04-01T00:00:00.000Z'];
/** The share of the file that two columns of one month may take. */
const MOST_SHARE = 0.1;

it('two columns of one month are less than a tenth of the bytes', { skip }, async (t) => {
  const deployment = await openDeployment();
  t.after(() => deployment.close());
  await loadFiles(deployment.store, 'oulad', [folderOf('oulad')]);
  const key = await deployment.makeKey('oulad');
  const { file, fetched } = await openRemote(deployment, key);
  const rows = await parquetReadObjects({
    file,
    metadata: await parquetMetadataAsync(file),
    columns: ['actor_id', 'timestamp'],
    filter: { timestamp: { $gte: new Date(START), $lt: new Date(END) } },
    compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
  });
  const share = fetched.bytes / file.byteLength;
  t.diagnostic(
    `${fetched.bytes} of ${file.byteLength} bytes (${(100 * share).toFixed(1)} %), ${rows.length} rows`,
  );
  assert.ok(rows.length > 1000);
  assert.ok(share < MOST_SHARE, `${(100 * share).toFixed(1)} %`);
  assert.deepEqual(rows.map(rowText), await exportedRows(deployment, key));
});

/** The file as the reader opens it; `fetched` counts the bytes of the bodies. */
async function openRemote({ url }: Deployment, key: string) {
  const fetched = { bytes: 0 };
  const countingFetch: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    fetched.bytes += Number(response.body === null ? 0 : response.headers.get('content-length'));
    assert.ok(response.status === 206 || response.body === null, `status ${response.status}`);
    return response;
  };
  const file: AsyncBuffer = await asyncBufferFromUrl({
    url: `${url}/a/v1/events?format=parquet`,
    requestInit: { headers: { apikey: key } },
    fetch: countingFetch,
  });
  return { file, fetched };
}

function rowText({ actor_id, timestamp }: Record<string, unknown>): string {
  const instant = timestamp instanceof Date ? timestamp : new Date(Number(timestamp));
  return `${actor_id} ${instant.toISOString()}`;
}

async function exportedRows({ url }: Deployment, key: string): Promise<string[]> {
  const query = new URLSearchParams({ start: START, end: END, format: 'ndjson' });
  const response = await fetch(`${url}/a/v1/events?${query}`, { headers: { apikey: key } });
  const lines = (await response.text()).trimEnd().split('\n');
  return lines.map((line) => {
    const { actor, timestamp } = JSON.parse(line);
    return rowText({ actor_id: actor.id, timestamp: new Date(timestamp) });
  });
}
