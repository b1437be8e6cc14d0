/** A pull copies texts exactly, with all separators and control characters. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import { pull } from '../../src/pull/pull.ts';
import type { ParsedRequest } from '../model/answers.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';
import { openFront } from './front.ts';
import { assertMirrored, BOTH_VARIANTS } from './mirrored.ts';

/** Odd characters of all of Unicode; no text of a record contains U+0000. */
const ODD = Array.from({ length: 0x110000 }, (_, at) => at)
  .filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff))
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /[\p{Cc}\p{Zl}\p{Zp}\p{Zs}\p{Cf}]/u.test(character));
const ALL = ODD.join('');
/** Addresses are short, without control characters and without white space at their ends. */
const IN_ADDRESS = ODD.filter((character) => !/\p{Cc}/u.test(character));
const addressOf = (user: number) =>
  `a${IN_ADDRESS.filter((_, at) => at % 2 === user % 2).join('')}@x.example`;

const BUNDLE: Bundle = {
  ...EMPTY_BUNDLE,
  users: [
    { id: 1n, email: addressOf(1), name: ALL, role: ALL, class_role: ALL },
    { id: 2n, email: addressOf(2), first_name: ALL, last_name: ALL },
    { id: 3n, email: 'c@x.example', name: `${ALL}x${ALL}` },
  ],
  boards: [
    { id: 7n, title: ALL, category: ALL },
    { id: 8n, title: `x${ALL}x` },
  ],
  pins: [
    {
      ...{ id: 70n, board_id: 7n, owner_id: 1n, title: ALL, body: ODD.map((odd) => `a${odd}b`).join('') },
      ...{ web_url: ALL, image_url: ALL, tags: ODD },
    },
  ],
  events: [1n, 2n, 3n].map((actor_id) => ({
    ...{ type: 'pin', action: 'visited', owner_id: 1n, actor_id, board_id: 7n, pin_id: 70n },
    timestamp: '2018-03-12T17:00:45.567Z',
  })),
  memberships: [{ board_id: 8n, user_id: 2n }],
  points: [{ user_id: 3n, board_id: 7n, total_points: 5, participation_score: 5 }],
};

const QUESTIONS: readonly ParsedRequest[] = [
  ...[{ route: 'events' } as const, { route: 'boards' } as const, { route: 'users' } as const],
  ...[7n, 8n].map((id): ParsedRequest => ({ route: 'points of a board', by: 'id', name: String(id) })),
];

describe('a pull of every separator and control character of Unicode', () => {
  let source: Deployment;
  let mirror: Deployment;
  before(async () => {
    [source, mirror] = await Promise.all([openDeployment(), openDeployment()]);
  });
  after(async () => {
    await Promise.all([source.close(), mirror.close()]);
  });

  async function pullInto(organization: string, url: string, key: string) {
    return await pull({
      ...{ url, key, folder: join(mirror.folder, '.pull', organization), patience: { firstPauseMs: 1 } },
      async publish(paths) {
        const report = await importBundle({ store: mirror.store, organization, paths });
        assert.deepEqual(report.problems, []);
        return report.published;
      },
    });
  }

  for (const variant of ['a', 'b'] as const) {
    for (const [server, variants] of [
      ['a Corkboard', BOTH_VARIANTS],
      ['a server without tokens', [variant]],
    ] as const) {
      it(`from ${server}, variant ${variant}, reproduces the same bytes`, async () => {
        const organization = `${variant}-${variants.length}`;
        await source.store.createOrganization(organization, { title: ALL, domain: ALL });
        await source.load(organization, BUNDLE);
        const key = await source.makeKey(organization);
        const front = await openFront(source.url, 'original');
        try {
          const url = variants === BOTH_VARIANTS ? source.url : front.url;
          assert.equal((await pullInto(organization, `${url}/${variant}`, key)).outcome, 'pulled');
        } finally {
          await front.close();
        }
        const [event] = JSON.parse((await get(`${source.url}/a/v1/events`, key)).text);
        assert.equal(event.organization.name, ALL);
        assert.equal(event.actor.name, ALL);
        assert.deepEqual(event.pin.tags, ODD);
        await assertMirrored(source, mirror, { organization, key, variants, questions: QUESTIONS });
      });
    }
  }
});
