/** An organization of the product, served from a real store, for tests of sync. */
import { join } from 'node:path';
import { runJson } from '../cli/command.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { deletionRecords, NO_DELETIONS } from '../model/deletions.ts';
import { openDeployment } from '../model/deployment.ts';
import { until } from '../server/stand.ts';
import { BOARDS, type Followed, idOf, timestampOf, USERS } from './followed.ts';

export async function openProduct(): Promise<Followed> {
  const deployment = await openDeployment();
  const { load, makeKey, store, url } = deployment;
  const user = (id: number, name: string) => ({ id: idOf(id), email: `${id}@harbor.example`, name });
  // Every event earns a point.
  const policy = { rules: [{ on: 'board.visited', to: 'actor', points: 1 }] };
  await store.createOrganization('harbor', { policy: JSON.stringify(policy) });
  await load('harbor', {
    ...EMPTY_BUNDLE,
    users: USERS.map((id) => user(id, `Person ${id}`)),
    boards: BOARDS.map((id) => ({ id: BigInt(id), title: `Board ${id}` })),
  });
  let key = await makeKey('harbor');
  let redacted = false;
  let added = 0;
  const tag = async () => {
    const response = await fetch(`${url}/a/v1/boards`, { headers: { apikey: key } });
    await response.arrayBuffer();
    return response.headers.get('etag');
  };
  /** Waits until the server has switched to a new version. */
  const published = async (publish: () => Promise<{ readonly published: boolean }>) => {
    const before = await tag();
    if ((await publish()).published) await until(async () => (await tag()) !== before);
  };
  const publish = (bundle: Partial<Bundle>) =>
    published(() => load('harbor', { ...EMPTY_BUNDLE, ...bundle }));
  return {
    baseUrl: `${url}/a`,
    get key() {
      return key;
    },
    add: (...events) =>
      publish({
        events: events.map(({ actor, owner, board }) => {
          added += 1;
          return {
            ...{ id: BigInt(added), type: 'board', action: 'visited', board_id: BigInt(board) },
            ...{ owner_id: idOf(owner), actor_id: idOf(actor), timestamp: timestampOf(added) },
          };
        }),
      }),
    rename: (id, name) => publish({ users: [user(id, name)] }),
    forget: (id) =>
      published(() => {
        const data = ['--data', join(deployment.folder, 'data')];
        return runJson(['forget', '--organization', 'harbor', '--user', String(idOf(id)), ...data]);
      }),
    delete: (number) => published(() => load('harbor', deletionOf(number))),
    async invalidateTokens() {
      redacted = !redacted;
      key = await makeKey('harbor', { redact: { email: redacted, name: false, id: false } });
    },
    close: () => deployment.close(),
  };
}

function deletionOf(number: number) {
  return deletionRecords({ ...NO_DELETIONS, events: [{ id: BigInt(number) }] });
}
