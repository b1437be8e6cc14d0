/** Pulls from a hostile server, then from the same server once it has become honest. */
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../../bench/random.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { type Pulled, pull } from '../../src/pull/pull.ts';
import { openRecordingStore } from '../ingest/recording-store.ts';
import { type Manner, type Recording, recordWorld } from './honest-server.ts';
import { hostileTricks, type Trick } from './hostile-replies.ts';
import { HostileServer } from './hostile-server.ts';
import type { Sandbox } from './sandbox.ts';
import { type Complaint, complaintsOf, type OpenTarget, type Target } from './target.ts';

interface PullCase {
  readonly base: 'a' | 'b';
  readonly manner: Manner;
  readonly tricks: readonly Trick[];
}

/** More requests than any pull here needs, if it ends at all. */
const MOST_REQUESTS = 1_500;
const PATIENCE = { firstPauseMs: 1, idleMs: 2_000, longestMs: 8_000 };
/** Far above the recording, far below an endless reply. */
const LIMITS = {
  listBytes: 16e6,
  eventsBytes: 32e6,
  pageBytes: 16e6,
  pointsBytes: 16e6,
  boards: 1_000,
  pages: 500,
};
/** The limit on the bytes that are kept of endless replies. */
const MOST_KEPT_BYTES = 80e6;

export const pullTarget: Target = {
  name: 'pull',
  async open(): Promise<OpenTarget<PullCase>> {
    const recording = await recordWorld();
    const server = await HostileServer.open(recording);
    return {
      make: (random: Random) => ({
        base: random.pick(['a', 'a', 'b']),
        manner: random.pick(['original', 'tokens']),
        tricks: hostileTricks(random, recording),
      }),
      run: (one, sandbox) => runPulls(one, sandbox, server, recording),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

async function runPulls(
  { base, manner, tricks }: PullCase,
  sandbox: Sandbox,
  server: HostileServer,
  recording: Recording,
): Promise<readonly Complaint[]> {
  const folder = join(sandbox.work, 'data/.pull/school');
  await mkdir(folder, { recursive: true });
  const pullNow = () => pullInto(folder, `${server.url}/${base}`, recording);
  server.begin(manner, tricks, MOST_REQUESTS);
  const complaints: Complaint[] = [];
  await pullNow().catch((error: unknown) => complaints.push(...complaintsOf(error)));
  if (server.requests > MOST_REQUESTS) {
    complaints.push({ kind: 'endless', what: 'the pull goes on asking for as long as it is answered' });
  }
  const kept = await bytesIn(folder);
  if (kept > MOST_KEPT_BYTES)
    complaints.push({ kind: 'unbounded body', what: 'a reply of any length is kept' });
  // After any hostile replies, a pull from the honest server succeeds.
  server.begin(manner, [], MOST_REQUESTS);
  await pullNow().catch((error: unknown) => {
    complaints.push(...complaintsOf(error), {
      kind: 'stays broken',
      what: error instanceof Error ? error.message : String(error),
    });
  });
  return complaints;
}

async function pullInto(folder: string, url: string, { organizationId }: Recording): Promise<Pulled> {
  return await pull({
    ...{ url, key: 'cork_key', folder, patience: PATIENCE, limits: LIMITS },
    async publish(paths) {
      const store = openRecordingStore({ school: organizationId });
      const { outcome } = await importBundle({ store, organization: 'school', paths });
      return outcome !== 'refused';
    },
  });
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(entries.map((name) => stat(join(folder, name)).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}
