/** What a publication derives in PostgreSQL: creation and who is on a board; and that it writes no more than what is another. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  CREATED,
  closeOrganizations,
  DAY_MS,
  event,
  type HandMadeOrganization,
  MONDAY,
  published,
  things,
} from '../postgres/hand-made.ts';

after(closeOrganizations);

describe('when something was created', () => {
  const created = (organization: HandMadeOrganization) =>
    organization.rows('SELECT ix, created_ms FROM user_created WHERE ALIVE ORDER BY ix');

  it('decision 35: is what the import says, else the first event, late ones included', async () => {
    const users = [{ id: 0, created_ms: 7 }, { id: 1 }, { id: 2 }];
    const organization = await published({
      users,
      events: [event('pin.visited', 0, 0), event('pin.visited', 1, 2), event('pin.visited', 1, 1)],
    });
    assert.deepEqual(await created(organization), ['0 7', `1 ${MONDAY + DAY_MS}`, '2 -']);
    await organization.publish({ events: [event('pin.visited', 1, 0), event('pin.visited', 0, 0)] });
    assert.deepEqual(await created(organization), ['0 7', `1 ${MONDAY}`, '2 -']);
    assert.deepEqual(await organization.written(), { user_created: '+1 -1' });
    await organization.publish({ users: [{ id: 1, created_ms: 9 }] });
    assert.deepEqual(await created(organization), ['0 7', '1 9', '2 -']);
  });
});

describe('who is on a board', () => {
  it('decision 10: members, those with figures, the latest follow, those who acted, not who only owns', async () => {
    const organization = await published({
      events: [
        event('board.unfollowed', 0, 2, { owner: 4 }),
        event('board.followed', 0, 1, { owner: 4 }),
        event('pin.visited', 0, 3, { owner: 4 }),
        event('pin.visited', 1, 1, { owner: 4 }),
      ],
      memberships: [{ board: 0, person: 2 }],
      points: [{ board: 0, person: 3, total_points: 42, participation_score: 7 }],
    });
    assert.deepEqual(await organization.people(), ['0 false', '1 true', '2 true', '3 true', '4 false']);
    assert.deepEqual(await organization.standings(), ['0 1 0 0', '0 2 0 0', '0 3 42 7']);
  });

  it('changes by a later act, follow or membership, and by nothing else', async () => {
    const organization = await published({
      events: [event('board.unfollowed', 0, 5, { owner: 4 }), event('board.unfollowed', 1, 5, { owner: 4 })],
    });
    await organization.publish({ events: [event('board.followed', 0, 4), event('pin.visited', 1, 9)] });
    assert.deepEqual(await organization.written(), { user_created: '+1 -1', board_created: '+1 -1' });
    await organization.publish({
      events: [event('pin.visited', 4, 9), event('board.followed', 0, 5)],
      memberships: [{ board: 0, person: 1 }],
    });
    assert.deepEqual(await organization.people(), ['0 true', '1 true', '4 true']);
  });
});

describe('a publication', () => {
  it('decision 41: of another policy writes what turns out different, and nothing else', async () => {
    const events = [
      event('pin.created', 0, 0),
      event('pin.commented', 1, 0),
      event('pin.created', 0, 0, { board: 1 }),
    ];
    const rules = [CREATED, { on: 'pin.commented', to: 'actor', points: 5 }];
    const organization = await published({ events }, { rules });
    const policy = { rules, boards: { 1: { rules: [{ ...CREATED, points: 7 }] } } };
    await organization.publish({}, JSON.stringify(policy));
    assert.deepEqual(await organization.written(), {
      ...{ policies: '+1 -0', board_policies: '+1 -1', awards: '+1 -1', standings: '+1 -1' },
    });
    assert.deepEqual(await organization.standings(), ['0 0 10 10', '0 1 5 5', '1 0 7 7']);
    await organization.publish({}, JSON.stringify({ ...policy, goal: 20 }));
    assert.deepEqual(await organization.written(), { policies: '+2 -2', standings: '+3 -3' });
  });

  it('of rules about kinds that no text in PostgreSQL can name is a publication', async () => {
    const rules = ['pin.\0', '\ud800.created', 'pin.created'].map((on) => ({ ...CREATED, on }));
    const organization = await published({ events: [event('pin.created', 0, 0)] }, { rules });
    assert.deepEqual(await organization.awards(), ['1 2 0 10 counted -']);
  });

  it('gives a board that comes later the policy that named it before', async () => {
    const organization = await published({ boards: things(1) }, { boards: { 1: { goal: 10 } } });
    await organization.publish({ boards: [{ id: 1 }], events: [event('pin.created', 0, 0, { board: 1 })] });
    assert.deepEqual(await organization.standings(), ['1 0 10 100']);
  });

  it('of much writes the same rows at once and in parts, in which little is looked up one by one', async () => {
    const policy = { rules: [CREATED], weeklyMaximum: 25 };
    const kinds = [
      'pin.created',
      'board.followed',
      'pin.visited',
      'board.unfollowed',
      'pin.created',
    ] as const;
    const events = Array.from({ length: 9_000 }, (_, n) => {
      const person = (n * 7919) % 41;
      return event(kinds[n % 5]!, person, ((n * 104_729) % 6_007) / 100, {
        board: (n * 31) % 3,
        owner: 40,
      });
    }).map((made) => ({ ...made, timestamp_ms: Math.round(made.timestamp_ms) }));
    const many = { users: things(41), boards: things(3) };
    const once = await published({ ...many, events }, policy);
    const parts = await published({ ...many, events: events.slice(0, 6_000) }, policy);
    await parts.publish({ events: events.slice(6_000, 6_100) });
    await parts.publish({ events: events.slice(6_100) });
    for (const read of ['awards', 'standings', 'people'] as const)
      assert.deepEqual(await parts[read](), await once[read]());
    assert.ok((await once.awards()).some((line) => line.includes('weekly-maximum')));
  });
});
