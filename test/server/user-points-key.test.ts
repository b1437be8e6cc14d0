/**
 * The member names in the points map of a user (decision 8), according to the setting of the
 * organization.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BIG, publishRecords } from '../dataset/small-world.ts';
import { ORGANIZATION, openStand, type Stand, until } from './stand.ts';

const BY_ID = `/a/v1/user/${BIG}/points`;
const BY_PROPERTY = '/a/v1/lms_user/sis/B-1/points';

describe('the points map of a user on two boards', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
    await publish({});
  });
  after(() => stand.close());

  async function publish(settings: { userPointsKey?: 'user-id' | 'board-id' }): Promise<void> {
    const old = await tagOf(BY_ID);
    const event = {
      type: 'board',
      action: 'visited',
      ownerId: 5n,
      actorId: BIG,
      boardId: 7n,
      timestampMs: 0,
    };
    await publishRecords(stand.store, ORGANIZATION, { events: [event] }, settings);
    await until(async () => (await tagOf(BY_ID)) !== old);
  }
  const get = async (path: string, headers?: Record<string, string>) => {
    const response = await stand.get(path, headers);
    return { status: response.status, tag: response.headers.get('etag'), text: await response.text() };
  };
  const tagOf = async (path: string) => (await get(path)).tag ?? '';
  const namesOf = async (path: string) => Object.keys(JSON.parse((await get(path)).text));

  it('has the user id as names, with the board id appended after the first board', async () => {
    for (const path of [BY_ID, BY_PROPERTY]) {
      assert.deepEqual(await namesOf(path), [`${BIG}`, `${BIG}:8`]);
      assert.deepEqual(await namesOf(`${path}?key=board`), ['7', '8']);
    }
  });

  it('has the board ids as names if the organization is configured so, with different entity tags', async () => {
    const [tag, byBoard] = [await tagOf(BY_ID), await get(`${BY_ID}?key=board`)];
    await publish({ userPointsKey: 'board-id' });
    for (const path of [BY_ID, BY_PROPERTY, `${BY_ID}?key=board`]) {
      assert.deepEqual(await namesOf(path), ['7', '8']);
    }
    const now = await get(BY_ID, { 'if-none-match': tag });
    assert.deepEqual([now.status, now.text], [200, byBoard.text]);
    await publish({ userPointsKey: 'user-id' });
    assert.deepEqual(await namesOf(BY_ID), [`${BIG}`, `${BIG}:8`]);
  });
});
