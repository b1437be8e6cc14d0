/** `corkboard demo`: serves the demo data of the package, with a key to try it. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { NO_REDACTION } from '../../domain/redaction.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import { type Keyring, statusOf } from '../../keys/keyring.ts';
import type { Store } from '../../store/store.ts';
import { keepResident, withKeyring, withNewStore } from '../process/storage.ts';
import { addExamples } from '../terminal/examples.ts';
import { remark } from '../terminal/output.ts';
import { readTextInput } from '../terminal/text-input.ts';
import { importInto, refuseUnpublished } from './import.ts';
import { addListenOptions, type ListenOptions, listen, runUntilSignal } from './serve.ts';

const ORGANIZATION = 'demo';
const TITLE = 'Stack Exchange Demo';
const LABEL = 'demo';
const KEY_LIFE_MS = 30 * 86_400_000;
// The same path is valid from src/cli and from dist/cli.
const BUNDLE = join(import.meta.dirname, '../../../demo');

export function addDemoCommand(program: Command): void {
  const demo = program
    .command('demo')
    .summary('Serve public demo data.')
    .description(
      'Serve an organization with public data, and print a key and a request to try. The first start loads the data.',
    );
  addListenOptions(demo, 'warn').action((_options: unknown, command: Command) =>
    serveDemo(command.optsWithGlobals()),
  );
  addExamples(demo, ['corkboard demo', 'corkboard demo --port 0']);
}

async function serveDemo(options: ListenOptions): Promise<void> {
  await withNewStore(options, (store) =>
    withKeyring(options, async (keyring) => {
      await loadBundle(store);
      const server = await listen({
        store: await keepResident(store, options, 1),
        keyring,
        host: options.host,
        port: options.port,
        defaultVariant: 'a',
        logLevel: options.logLevel,
        hasAdmin: options.adminPort !== undefined,
        showsVersion: options.versionHeader,
      });
      const key = await replaceKey(keyring);
      await runUntilSignal(options, server, [
        `Key:       ${key}`,
        `Try:       curl -H 'apikey: ${key}' '${server.address}/a/v1/boards'`,
      ]);
    }),
  );
}

/** Imports the demo data unless it is published already, also after an interrupted import. */
async function loadBundle(store: Store): Promise<void> {
  const known = (await store.organizations()).find(({ name }) => name === ORGANIZATION);
  if (known?.version !== undefined) return;
  if (known === undefined) {
    const policy = await readTextInput(join(BUNDLE, 'policy.json'));
    await store.createOrganization(ORGANIZATION, {
      title: TITLE,
      policy,
      courseLookup: true,
      lmsUserProperties: ['sis_user_id'],
    });
  }
  remark('Loading the demo data.');
  // Package managers may install files as links.
  refuseUnpublished(
    await importInto(store, [BUNDLE], { organization: ORGANIZATION, followSymlinks: true, command: 'demo' }),
  );
}

/** Creates a new key: keys are not stored, so the one of an earlier start cannot be shown again. */
async function replaceKey(keyring: Keyring): Promise<string> {
  const earlier = (await keyring.list(ORGANIZATION)).filter(
    (entry) => entry.label === LABEL && statusOf(entry, Date.now()) === 'active',
  );
  for (const { id } of earlier) await keyring.revoke(id);
  if (earlier.length > 0) remark('The key of the earlier start has been revoked; use the new one.');
  const grant = {
    organization: ORGANIZATION,
    label: LABEL,
    scope: FULL_SCOPE,
    redact: NO_REDACTION,
  };
  return (await keyring.create(grant, Date.now() + KEY_LIFE_MS)).key;
}
