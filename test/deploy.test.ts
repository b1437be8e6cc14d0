/**
 * The files for deployment: containers with few privileges, and a database role that is not a
 * superuser.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { publishRecords, WORLD } from './dataset/small-world.ts';
import { makeFolder } from './ingest/temporary-folder.ts';
import { lacking, runs } from './recipes/blocks.ts';
import { newDatabase } from './shared-servers.ts';
import { migrateDatabase, openCachedStore } from './storage.ts';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The sections of a YAML file at one depth, by name. Each includes the line of its name. */
function sectionsOf(yaml: string, depth: number): ReadonlyMap<string, string> {
  const start = new RegExp(`^ {${depth}}([\\w-]+):`, 'gm');
  const starts = [...yaml.matchAll(start)];
  return new Map(starts.map((one, at) => [one[1] ?? '', yaml.slice(one.index, starts[at + 1]?.index)]));
}

describe('compose.yaml', () => {
  const compose = textOf('compose.yaml').replaceAll(/^ *#.*\n/gm, '');
  const top = sectionsOf(compose, 0);
  const services = sectionsOf(top.get('services') ?? '', 2);

  it('gives every container a read-only file system, few privileges, and limits', () => {
    const hardened = top.get('x-hardened') ?? '';
    for (const rule of [
      'read_only: true',
      'cap_drop: [ALL]',
      'security_opt: ["no-new-privileges:true"]',
      'pids_limit: 1024',
    ]) {
      assert.ok(hardened.includes(rule), rule);
    }
    const corkboard = top.get('x-corkboard') ?? '';
    assert.match(corkboard, /<<: \*hardened[\s\S]*mem_limit:/);
    assert.deepEqual([...services.keys()], ['postgres', 'migrate', 'server', 'cli']);
    for (const [name, service] of services) {
      assert.match(
        service,
        name === 'postgres' ? /<<: \*hardened[\s\S]*mem_limit:/ : /<<: \*corkboard/,
        name,
      );
      assert.doesNotMatch(service, /privileged|network_mode|read_only|cap_drop|security_opt/, name);
    }
  });

  it('gives the servers a role that is not the superuser, and not the password of the superuser', () => {
    assert.doesNotMatch(compose, /POSTGRES_USER/);
    const [superuser = '', others = ''] = [services.get('postgres'), top.get('x-corkboard')];
    assert.match(superuser, /POSTGRES_PASSWORD: \$\{POSTGRES_PASSWORD:\?/);
    assert.match(superuser, /\.\/deploy\/postgres-role\.sh:\/docker-entrypoint-initdb\.d\/[\w.]+:ro/);
    assert.match(others, /PGPASSWORD: \$\{CORKBOARD_PASSWORD:\?/);
    assert.doesNotMatch(others, /POSTGRES_PASSWORD/);
  });

  it('lets every image be pinned by its digest', () => {
    const images = [...compose.matchAll(/^ *image: (.*)$/gm)].map(([, image]) => image);
    assert.deepEqual(images, ['corkboard', '$' + '{POSTGRES_IMAGE:-postgres:17}']);
    assert.match(compose, /NODE_IMAGE: \$\{NODE_IMAGE:-node:24-slim\}/);
    const dockerfile = textOf('Dockerfile');
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    assert.deepEqual(new Set(bases), new Set(['$' + '{NODE_IMAGE}']));
    assert.match(dockerfile, /^ARG NODE_IMAGE=node:24-slim$/m);
  });
});

describe('the commands in docs/operations.md', () => {
  const operations = textOf('docs/operations.md');

  it('run a container with few privileges', () => {
    const [command = ''] = /docker run (?:.*\\\n)*.*/.exec(operations) ?? [];
    for (const option of [
      ...['--read-only', '--cap-drop ALL', '--security-opt no-new-privileges', '--memory', '--pids-limit'],
    ]) {
      assert.ok(command.includes(option), option);
    }
  });

  it('write backups and passwords that only their owner can read', () => {
    assert.match(operations, /^ {4}umask 077\n {4}sqlite3 /m);
    assert.match(operations, /^ {4}umask 077\n {4}echo "POSTGRES_PASSWORD=/m);
  });

  it('make browsers require TLS in future', () => {
    assert.match(operations, /add_header Strict-Transport-Security "max-age=\d+" always;/);
  });
});

describe('deploy/postgres-role.sh', { skip: lacking(['psql', () => runs('psql', '--version')]) }, () => {
  it('creates a role that is not a superuser and can do everything that Corkboard needs', async (t) => {
    const { hostname, port } = new URL(await newDatabase('empty'));
    const password = `it's "a" \\ password`;
    const made = spawnSync('sh', [join(ROOT, 'deploy/postgres-role.sh')], {
      env: {
        ...process.env,
        ...{ PGHOST: hostname, PGPORT: port, POSTGRES_USER: 'test', CORKBOARD_PASSWORD: password },
      },
      encoding: 'utf8',
    });
    assert.equal(made.status, 0, made.stderr);
    const url = `postgres://corkboard@${hostname}:${port}/corkboard`;
    const database = new PostgresDatabase(url);
    const [rights] = await database.rows(
      `SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls
       FROM pg_roles WHERE rolname = current_user`,
    );
    assert.deepEqual(rights, [false]);
    await assert.rejects(
      database.rows(`COPY (SELECT 1) TO PROGRAM 'true'`),
      /must be superuser|permission denied/,
    );
    await database.close();
    await migrateDatabase(url);
    const store = await openCachedStore(url, await makeFolder(t));
    await store.createOrganization('acme', {});
    assert.equal((await publishRecords(store, 'acme', WORLD)).published, true);
    await store.close();
  });
});
