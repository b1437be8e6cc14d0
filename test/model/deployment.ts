/**
 * A real deployment for tests: a store, a keyring and a running server, and functions to fill it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_REDACTION, type Redaction } from '../../src/domain/redaction.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { type ImportOptions, type ImportReport, importBundle } from '../../src/ingest/import.ts';
import type { Keyring } from '../../src/keys/keyring.ts';
import type { SiteFolders } from '../../src/server/site/site.ts';
import { type RunningServer, startServer } from '../../src/server/start.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import type { Store } from '../../src/store/store.ts';
import { IS_LONG } from '../long.ts';
import { DEFAULT_STORAGE, openStorage, type Storage, type StorageKind } from '../storage.ts';
import type { OrganizationPlan } from './arbitrary.ts';
import { type Bundle, type BundleRecords, type Format, writeBundle } from './bundle.ts';
import { absorb, emptyModel, type Model, type ModelSettings } from './model.ts';

export interface Deployment {
  /** A folder for files of the test; the embedded store uses `data` in it. */
  readonly folder: string;
  readonly store: VersionStore;
  readonly keyring: Keyring;
  /** `http://host:port`, without a base. */
  readonly url: string;
  /**
   * Imports a bundle as the import command does; creates the organization if it does not exist.
   * Fails if the import is refused.
   */
  load(
    organization: string,
    bundle: BundleRecords,
    format?: Format,
    deleting?: DeletingWishes,
  ): Promise<ImportReport>;
  /** The text of a new key. */
  makeKey(organization: string, grant?: KeyWishes): Promise<string>;
  close(): Promise<void>;
}

export type DeletingWishes = Pick<ImportOptions, 'cascades' | 'replaced'>;

export interface KeyWishes {
  readonly scope?: Scope;
  readonly redact?: Redaction;
  readonly allowLmsLookup?: boolean;
  readonly lmsSplits?: readonly string[];
  readonly expiresMs?: number;
}

/** An empty running deployment; it serves console and documents if their folders are given. */
export async function openDeployment(
  kind: StorageKind = DEFAULT_STORAGE,
  site: SiteFolders = {},
): Promise<Deployment> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-test-'));
  const storage = await openStorage(kind, folder);
  return deploymentOf(folder, storage, await serve(storage.served, storage.keyring, site));
}

export interface BothReadings extends Deployment {
  /** The addresses of two servers over one store: one reads from memory, the other directly. */
  readonly urls: readonly [resident: string, direct: string];
}

/**
 * The server for the request number `at`: both in turn. Both in long runs; that they give the same
 * responses is also shown by `test/contract/same-bytes.test.ts`.
 */
export function urlsInTurn({ urls }: BothReadings, at: number): readonly string[] {
  return IS_LONG ? urls : [urls[at % 2]!];
}

/** An empty deployment with both servers, so that both serve the same imports. */
export async function openBothReadings(): Promise<BothReadings> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-test-'));
  const storage = await openStorage(DEFAULT_STORAGE, folder);
  const direct = await serve(storage.store, storage.keyring);
  const resident = deploymentOf(folder, storage, await serve(storage.served, storage.keyring));
  return {
    ...resident,
    urls: [resident.url, direct.address],
    async close() {
      await direct.stop();
      await resident.close();
    },
  };
}

async function serve(store: Store, keyring: Keyring, site: SiteFolders = {}): Promise<RunningServer> {
  return await startServer({
    ...{ store, keyring },
    ...site,
    ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
  });
}

function deploymentOf(folder: string, storage: Storage, server: RunningServer): Deployment {
  const { store, keyring } = storage;
  let bundles = 0;
  return {
    ...{ folder, store, keyring },
    url: server.address,
    async load(organization, bundle, format = 'ndjson', deleting = {}) {
      bundles += 1;
      const files = join(folder, `bundle-${bundles}`);
      await writeBundle(files, bundle, format);
      return loadFiles(store, organization, [files], deleting);
    },
    async makeKey(organization, wishes = {}) {
      const grant = {
        organization,
        label: 'test',
        scope: FULL_SCOPE,
        redact: NO_REDACTION,
        ...wishes,
      };
      return (await keyring.create(grant, wishes.expiresMs)).key;
    },
    async close() {
      await server.stop();
      await storage.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Imports files; throws if the import is refused. */
export async function loadFiles(
  store: Store,
  organization: string,
  paths: readonly string[],
  deleting: DeletingWishes = {},
): Promise<ImportReport> {
  const report = await importBundle({ store, organization, paths, ...deleting });
  if (report.problemCount > 0)
    throw new Error(`the import was refused: ${JSON.stringify(report.problems[0])}`);
  return report;
}

/** Settings of the model in the form of the store. */
export function storeSettings<T extends Omit<ModelSettings, 'id'>>(
  settings: T,
): Omit<T, 'policy'> & { readonly policy: string } {
  return { ...settings, policy: settings.policy === undefined ? '' : JSON.stringify(settings.policy) };
}

export interface Installed {
  readonly organization: string;
  readonly model: Model;
}

let installed = 0;

/** Whether a bundle has records: an import without records is refused. */
export function holdsRecords(bundle: Bundle): boolean {
  return Object.values(bundle).some((records) => records.length > 0);
}

/** Creates a new organization from a plan, in the deployment and in the model. */
export async function installPlan(deployment: Deployment, plan: OrganizationPlan): Promise<Installed> {
  installed += 1;
  const organization = `organization-${installed}`;
  const { settings } = await deployment.store.createOrganization(organization, storeSettings(plan.settings));
  let model = emptyModel({ ...plan.settings, id: settings.id });
  for (const bundle of plan.bundles.filter(holdsRecords)) {
    await deployment.load(organization, bundle, plan.format);
    model = absorb(model, bundle);
  }
  return { organization, model };
}
