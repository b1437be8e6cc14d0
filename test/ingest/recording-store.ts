/**
 * A store that keeps the staged records in the order of staging, and only records that it has
 * published them.
 */
import { AppError } from '../../src/domain/app-error.ts';
import {
  type EventColumns,
  type EventRecord,
  RECORD_KINDS,
  type RecordKind,
  type RecordOf,
  type StagedProblem,
} from '../../src/store/staging.ts';
import type { Changes, DerivedIds, OrganizationEntry, Settings, Store } from '../../src/store/store.ts';

export interface StagedRecord {
  readonly kind: RecordKind;
  readonly record: RecordOf[RecordKind];
}

export interface RecordingStore extends Store {
  readonly staged: StagedRecord[];
  readonly published: StagedRecord[];
  /** How many events were staged together as columns, in the order of staging. */
  readonly batches: number[];
  /** The problems that `check` reports. */
  readonly wrong: StagedProblem[];
  isClosed: boolean;
}

const NO_CHANGE = { added: 0, changed: 0, unchanged: 0, deleted: 0 };

/** The organizations are those of `known`, by name and id, and the created ones. */
export function openRecordingStore(
  known: Readonly<Record<string, bigint>> = {},
  derivedIds: DerivedIds = 'keyed',
): RecordingStore {
  const entries = new Map<string, OrganizationEntry>();
  const add = (name: string, settings: Partial<Settings>) => {
    const defaults = { id: 1n, title: name, domain: '', categoryId: 0n, courseLookup: false, policy: '' };
    const full = { ...defaults, lmsUserProperties: [], userPointsKey: 'user-id' as const, ...settings };
    const entry = {
      name,
      settings: full,
      version: undefined,
      secret: new Uint8Array(32),
      derivedIds,
      rules: {},
    } as const;
    entries.set(name, entry);
    return entry;
  };
  for (const [name, id] of Object.entries(known)) add(name, { id });
  const staged: StagedRecord[] = [];
  const published: StagedRecord[] = [];
  const batches: number[] = [];
  const wrong: StagedProblem[] = [];
  const changes = () =>
    Object.fromEntries(
      RECORD_KINDS.map((kind) => {
        const added = staged.filter((one) => one.kind === kind).length;
        return [kind, { ...NO_CHANGE, added }];
      }),
    ) as Changes;
  return {
    staged,
    published,
    batches,
    wrong,
    isClosed: false,
    organizations: async () => [...entries.values()],
    countPublished: async () => 0,
    async organization(name) {
      const entry = entries.get(name);
      if (entry === undefined)
        throw new AppError('organization-unknown', `There is no organization ${name}.`);
      return entry;
    },
    async createOrganization(name, settings) {
      const isTaken = [...entries.values()].some((entry) => entry.settings.id === settings.id);
      if (isTaken || entries.has(name)) throw new AppError('organization-exists', `${name} exists already.`);
      return add(name, settings);
    },
    changeRules: async () => undefined,
    currentVersion: async () => undefined,
    openDataset: async () => undefined,
    async beginPublication() {
      return {
        async stage(kind, records) {
          for (const record of records) staged.push({ kind, record });
        },
        async stageEvents(events) {
          batches.push(events.count);
          for (const record of eventRecords(events)) staged.push({ kind: 'events', record });
        },
        async stageDeletions() {},
        changeSettings() {},
        async check(report) {
          for (const problem of wrong) report(problem);
          return { forgotten: 0, expired: 0, unmatched: { count: 0, first: [] } };
        },
        previewPoints: async () => undefined,
        preview: async () => ({ changes: changes(), erased: 0, overdue: undefined }),
        async publish() {
          for (const one of staged) published.push(one);
          const counts = { events: 0, users: 0, boards: 0, pins: 0 };
          const outcome = { changes: changes(), counts, erased: 0, overdue: undefined };
          return { published: true, version: 'recorded', ...outcome };
        },
        async discard() {},
      };
    },
    async close() {
      this.isClosed = true;
    },
  };
}

/** The events of the columns, as records. */
function eventRecords(events: EventColumns): EventRecord[] {
  return Array.from({ length: events.count }, (_, at) => ({
    file: events.file,
    line: valueAt(events.lines, at),
    id: events.hasIds[at] === 1 ? valueAt(events.ids, at) : undefined,
    type: valueAt(events.words, valueAt(events.types, at)),
    action: valueAt(events.words, valueAt(events.actions, at)),
    ownerId: valueAt(events.ownerIds, at),
    actorId: valueAt(events.actorIds, at),
    boardId: valueAt(events.boardIds, at),
    pinId: events.hasPins[at] === 1 ? valueAt(events.pinIds, at) : undefined,
    timestampMs: Number(valueAt(events.timestampsMs, at)),
  }));
}

function valueAt<T>(column: ArrayLike<T>, at: number): T {
  const value = column[at];
  if (value === undefined) throw new Error(`the columns have no place ${at}`);
  return value;
}
