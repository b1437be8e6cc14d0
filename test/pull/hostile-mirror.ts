/** A hostile server, a pull from it, and the results. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { importBundle } from '../../src/ingest/import.ts';
import type { Patience } from '../../src/ingest/remote/request-with-retry.ts';
import type { PullLimits } from '../../src/pull/limits.ts';
import { type Pulled, pull } from '../../src/pull/pull.ts';
import { EMBEDDED, openStorage, type Storage } from '../storage.ts';
import { BOARD, type HostileManner, type HostileServer, openHostileServer } from './hostile-server.ts';

/** Small enough to be reached in tests, and large enough for honest responses. */
const LIMITS: Partial<PullLimits> = {
  ...{ listBytes: 3e6, eventsBytes: 3e6, pageBytes: 3e6, pointsBytes: 3e6 },
  ...{ boards: 50, pages: 200, forgotten: 50, peopleBytes: 20_000 },
};

export const USERS = '/a/v1/users';
export const BOARDS = '/a/v1/boards';
export const EVENTS = '/a/v1/events';
export const POINTS = `/a/v1/board/${BOARD}/points`;

export interface Mirror {
  readonly server: HostileServer;
  readonly folder: string;
  /** Pulls and publishes. */
  again(): Promise<Pulled>;
  /**
   * Pulls without publishing. Returns the number of lines to import by kind of record; throws if
   * the pull fails.
   */
  lines(overruled?: { readonly limits?: Partial<PullLimits>; readonly patience?: Patience }): Promise<Lines>;
  /** Events in the published version. */
  countEvents(): Promise<number | undefined>;
}

export type Lines = Readonly<Record<string, number>>;

/** The lines of a pull from the honest server. */
export const HONEST: Lines = { users: 1, boards: 1, events: 1, points: 1 };

/** For the tests of a file: a common folder, and a function that creates a mirror for one test. */
export function prepareMirrors(): { place: string; newMirror: (manner: HostileManner) => Promise<Mirror> } {
  const place = mkdtempSync(join(tmpdir(), 'corkboard-hostile-'));
  const servers: HostileServer[] = [];
  let storage: Storage;
  let mirrors = 0;
  before(async () => {
    storage = await openStorage(EMBEDDED, place);
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  after(async () => {
    await storage.close();
    rmSync(place, { recursive: true });
  });
  const newMirror = async (manner: HostileManner) => {
    const server = await openHostileServer(manner);
    servers.push(server);
    mirrors += 1;
    return mirrorOf(server, storage, `mirror-${mirrors}`, join(place, '.pull', `mirror-${mirrors}`));
  };
  return { place, newMirror };
}

function mirrorOf(server: HostileServer, { store }: Storage, organization: string, folder: string): Mirror {
  const common = { url: server.url, key: 'key', folder };
  const patience = { firstPauseMs: 1, idleMs: 2_000 };
  const again = () =>
    pull({
      ...{ ...common, limits: LIMITS, patience },
      async publish(paths) {
        const report = await importBundle({ store, organization, paths });
        assert.deepEqual(report.problems, []);
        return report.outcome !== 'refused';
      },
    });
  const lines: Mirror['lines'] = async (overruled) => {
    const counts: Record<string, number> = {};
    await pull({
      ...{ ...common, limits: LIMITS, patience, ...overruled },
      async publish(paths) {
        for (const path of paths) {
          const kind = /(\w+)[^/]*$/.exec(path)?.[1] ?? '';
          counts[kind] = readFileSync(path, 'utf8').split('\n').length - 1;
        }
        return true;
      },
    });
    return counts;
  };
  const countEvents = async () => {
    const dataset = await store.openDataset(organization);
    await dataset?.close();
    return dataset?.counts.events;
  };
  return { server, folder, again, lines, countEvents };
}
