import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openRendering } from '../../src/render/rendering.ts';
import { GATHERED_FROM_RECORDS } from '../../src/render/text/fragment-memory.ts';
import { PlainDataset, type PlainWorld } from './plain-dataset.ts';
import { collect, eventObject, eventRow, jsonOf, ndjsonOf, textOf } from './reference.ts';
import { anyWorld, NO_REDACTION, worldOf } from './worlds.ts';

const EVERYTHING = { scope: FULL_SCOPE, range: {} };
const COLUMNS =
  'type,action,owner_id,owner_email,owner_name,owner_role,owner_class_role,actor_id,actor_email,actor_name,' +
  'actor_role,actor_class_role,organization_id,organization_name,organization_domain,' +
  'organization_category_id,pin_id,pin_activity,pin_title,pin_body,pin_web_url,pin_image_url,pin_tags,' +
  'board_id,board_title,board_category,timestamp';

for (const [way, claimedUsers] of Object.entries({ 'one by one': 0, gathered: GATHERED_FROM_RECORDS })) {
  describe(`events that are written ${way}`, () => {
    function open(world: PlainWorld, batchSize?: number) {
      const dataset = new PlainDataset(world, batchSize, claimedUsers);
      const events = dataset.select(EVERYTHING);
      return { dataset, rendering: openRendering(dataset, NO_REDACTION), events };
    }

    test('an event in JSON equals the example of the contract, member by member (contract 2.1 to 2.5)', async () => {
      const { rendering } = open(worldOf(2, 2));
      const person = (id: string) =>
        `{"id":${id},"email":"user${id}@guild.example","name":"Ada ${id}","role":"user","class_role":"instructor"}`;
      const owner = person('9223372036854775807');
      const organization = '{"id":7,"name":"Maker Guild","domain":"guild.example","category_id":3}';
      assert.equal(
        await textOf(await rendering.events(EVERYTHING, 'json')),
        `[{"type":"pin","action":"visited","owner":${owner},"actor":${person('1')},"organization":${organization},` +
          '"pin":{"id":1,"activity":"visited","title":"Pin 1","body":"üü","web_url":"","image_url":"","tags":["wood"]},' +
          '"board":{"id":1,"title":"Board 1","category":"Communications"},"timestamp":"2018-03-12T17:00:00.000+00:00"},' +
          `{"type":"board","action":"followed","owner":${owner},"actor":${person('9007199254740993')},` +
          `"organization":${organization},` +
          '"board":{"id":9007199254740993,"title":"Board 9007199254740993","category":"Communications"},' +
          '"timestamp":"2018-03-12T17:01:00.000+00:00"}]',
      );
    });

    test('events in JSON and NDJSON equal the output of JSON.stringify, with exact ids', async () => {
      await fc.assert(
        fc.asyncProperty(anyWorld, async (world) => {
          const { rendering, events } = open(world);
          const objects = events.map((event) => eventObject(world, event));
          assert.equal(await textOf(await rendering.events(EVERYTHING, 'json')), jsonOf(objects));
          assert.equal(await textOf(await rendering.events(EVERYTHING, 'ndjson')), ndjsonOf(objects));
        }),
        { numRuns: 50 },
      );
    });

    test('events of a sync are the same, each with a unique sync id', async () => {
      await fc.assert(
        fc.asyncProperty(anyWorld, async (world) => {
          const { rendering, events } = open(world);
          const answer = await rendering.changes(EVERYTHING, { since: undefined, representation: 'ndjson' });
          const text = await textOf(answer);
          assert.equal(answer.byteLength, Buffer.byteLength(text));
          const names = [...text.matchAll(/,"sync_id":"([\w-]{22})"\}\n/g)].map(([, name]) => name);
          assert.equal(new Set(names).size, events.length);
          const unnamed = text.replace(/,"sync_id":"[\w-]{22}"(?=\}\n)/g, '');
          assert.equal(unnamed, ndjsonOf(events.map((event) => eventObject(world, event))));
        }),
        { numRuns: 50 },
      );
    });

    test('the sync token, if requested, is the last item of a sync', async () => {
      for (const count of [0, 3, 3_000]) {
        const { rendering } = open(worldOf(count));
        for (const representation of ['json', 'ndjson'] as const) {
          const asked = { since: undefined, representation };
          const plain = await rendering.changes(EVERYTHING, asked);
          const ended = await rendering.changes(EVERYTHING, { ...asked, token: 'end' });
          const [text, endedText] = [await textOf(plain), await textOf(ended)];
          assert.equal(ended.byteLength, Buffer.byteLength(endedText));
          assert.equal(ended.rows, count);
          const item = '{"sync_token":"end"}';
          if (representation === 'ndjson') assert.equal(endedText, `${text}${item}\n`);
          else assert.equal(endedText, `${text.slice(0, -1)}${count === 0 ? '' : ','}${item}]`);
        }
      }
    });

    test('events in CSV are read back cell by cell', async () => {
      await fc.assert(
        fc.asyncProperty(anyWorld, async (world) => {
          const { rendering, events } = open(world);
          const text = await textOf(await rendering.events(EVERYTHING, 'csv'));
          assert.ok(text.startsWith(`${COLUMNS}\r\n`) && text.endsWith('\r\n'));
          assert.deepEqual(
            parse(text, { from_line: 2, record_delimiter: '\r\n' }),
            events.map((event) => eventRow(world, event)),
          );
        }),
        { numRuns: 50 },
      );
    });

    test('no events are an empty array, no bytes, or only the CSV header', async () => {
      const { rendering } = open(worldOf(0));
      assert.equal(await textOf(await rendering.events(EVERYTHING, 'json')), '[]');
      assert.equal(await textOf(await rendering.events(EVERYTHING, 'ndjson')), '');
      assert.equal(await textOf(await rendering.events(EVERYTHING, 'csv')), `${COLUMNS}\r\n`);
    });

    test('a large response is tallied, and has the announced size and the same bytes', async () => {
      const world = worldOf(7000);
      const { dataset, rendering, events } = open(world, 1000);
      const objects = events.map((event) => eventObject(world, event));
      assert.equal(await textOf(await rendering.events(EVERYTHING, 'json')), jsonOf(objects));
      assert.equal(await textOf(await rendering.events(EVERYTHING, 'ndjson')), ndjsonOf(objects));
      const csv = await textOf(await rendering.events(EVERYTHING, 'csv'));
      assert.deepEqual(
        parse(csv, { from_line: 2 }),
        events.map((event) => eventRow(world, event)),
      );
      assert.equal(dataset.tallies, 3);
    });

    test('an event larger than a chunk is sent whole', async () => {
      const world = worldOf(12, 400_000);
      const { rendering, events } = open(world);
      const answer = await rendering.events(EVERYTHING, 'json');
      const sizes: number[] = [];
      let text = '';
      for await (const chunk of answer.chunks()) {
        sizes.push(chunk.length);
        text += Buffer.from(chunk).toString();
      }
      assert.equal(text, jsonOf(events.map((event) => eventObject(world, event))));
      assert.ok(Math.max(...sizes) > 800_000, `${sizes}`);
    });

    test('chunks of ordinary events stay within 256 KiB and nearly fill it', async () => {
      const { rendering } = open(worldOf(3000), 500);
      const answer = await rendering.events(EVERYTHING, 'json');
      const sizes: number[] = [];
      for await (const chunk of answer.chunks()) sizes.push(chunk.length);
      assert.ok(sizes.length > 5);
      for (const size of sizes.slice(0, -1)) assert.ok(size <= 262_144 && size > 260_000, `${size}`);
    });

    test('a small response needs one query and no tally', async () => {
      const { dataset, rendering } = open(worldOf(100), 30);
      await collect(await rendering.events(EVERYTHING, 'json'));
      assert.deepEqual([dataset.begun, dataset.ended, dataset.tallies], [1, 1, 0]);
    });

    test('pages continue at the position of the last event, without gaps or repetitions', async () => {
      await fc.assert(
        fc.asyncProperty(anyWorld, fc.integer({ min: 1, max: 5 }), async (world, limit) => {
          const { rendering, events } = open(world, 2);
          let text = '';
          let after: { timestampMs: number; sequence: number } | undefined;
          for (let pages = 0; pages <= events.length; pages++) {
            const answer = await rendering.events({ ...EVERYTHING, limit, after }, 'ndjson');
            text += await textOf(answer);
            after = answer.next;
            if (after === undefined) break;
          }
          assert.equal(text, ndjsonOf(events.map((event) => eventObject(world, event))));
        }),
        { numRuns: 50 },
      );
    });

    test('a page that ends with the last event has no next position', async () => {
      const { rendering, events } = open(worldOf(6));
      assert.equal((await rendering.events({ ...EVERYTHING, limit: 6 }, 'json')).next, undefined);
      const { timestampMs, sequence } = events[4]!;
      assert.deepEqual((await rendering.events({ ...EVERYTHING, limit: 5 }, 'json')).next, {
        timestampMs,
        sequence,
      });
    });

    test('a page of the maximum size is rendered in full', async () => {
      const world = worldOf(10_500);
      const { dataset, rendering, events } = open(world, 2048);
      const answer = await rendering.events({ ...EVERYTHING, limit: 10_000 }, 'json');
      const objects = events.slice(0, 10_000).map((event) => eventObject(world, event));
      assert.equal(await textOf(answer), jsonOf(objects));
      assert.equal(answer.next?.sequence, 10_000);
      assert.deepEqual([dataset.begun, dataset.ended, dataset.tallies], [1, 1, 0]);
    });
  });
}

test('a CSV cell is quoted only if necessary', async () => {
  const world = worldOf(1);
  const titles = ['plain text; with "', 'a,b', ' led', 'trailed ', 'two\nlines', 'return\r', "it's plain"];
  const boards = titles.map((title, at) => ({ id: BigInt(at), title, category: '' }));
  const rendering = openRendering(new PlainDataset({ ...world, boards }), NO_REDACTION);
  assert.equal(
    await textOf(await rendering.list('boards', EVERYTHING, 'a', 'csv')),
    'id,title\r\n0,"plain text; with """\r\n1,"a,b"\r\n2," led"\r\n3,"trailed "\r\n4,"two\nlines"\r\n' +
      '5,"return\r"\r\n6,it\'s plain\r\n',
  );
});
