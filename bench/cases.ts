/** What is asked, and of which data. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COMMUNITY_BOARD, writeCommunity } from './community.ts';

export interface DataSet {
  readonly name: string;
  readonly title: string;
  /** Makes or finds the bundle; `folder` is an empty folder that may be used. Absent when there is none. */
  readonly openBundle: (folder: string) => Promise<string | undefined>;
  readonly cases: readonly Case[];
}

export interface Case {
  readonly name: string;
  readonly title: string;
  readonly path: string;
  /** Asks with the entity tag of the answer, so that 304 comes. */
  readonly unchanged?: boolean;
  /** One request at a time on one connection, measured in bytes per second; all others in requests per second. */
  readonly large?: boolean;
}

const EXPORT: Case = { name: 'export', title: 'all events', path: '/a/v1/events', large: true };
const LISTS: readonly Case[] = [
  { name: 'boards', title: 'boards', path: '/a/v1/boards' },
  { name: 'users', title: 'users', path: '/a/v1/users' },
  { name: 'unchanged', title: 'all events, 304', path: '/a/v1/events', unchanged: true },
];

/** A subset of the Open University Learning Analytics Dataset (CC BY 4.0), where it lies beside the checkout. */
const OULAD = join(import.meta.dirname, '../../shared/data/oulad');

export function dataSets(events: number): readonly DataSet[] {
  return [
    {
      name: 'community',
      title: `invented community, ${events.toLocaleString('en')} events`,
      openBundle: async (folder) => {
        await writeCommunity(folder, events);
        return folder;
      },
      cases: [
        EXPORT,
        { name: 'board', title: 'events of a board', path: `/a/v1/events/board/${COMMUNITY_BOARD}` },
        { name: 'points', title: 'points of a board', path: `/a/v1/board/${COMMUNITY_BOARD}/points` },
        ...LISTS,
      ],
    },
    {
      name: 'oulad',
      title: 'OULAD, 1,053,324 events',
      openBundle: async () => (existsSync(OULAD) ? OULAD : undefined),
      cases: [EXPORT, { name: 'points', title: 'points of a board', path: '/a/v1/board/1/points' }, ...LISTS],
    },
  ];
}
