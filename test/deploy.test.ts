/**
 * The files for deployment: containers with few privileges, and a database role that is not a
 * superuser.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
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
    assert.deepEqual([...services.keys()], ['postgres', 'migrate', 'server', 'proxy', 'cli']);
    for (const [name, service] of services) {
      assert.match(
        service,
        ['postgres', 'proxy'].includes(name) ? /<<: \*hardened[\s\S]*mem_limit:/ : /<<: \*corkboard/,
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
    const pinned = ['POSTGRES_IMAGE:-postgres:17', 'CADDY_IMAGE:-caddy:2'].map((one) => `$\{${one}}`);
    assert.deepEqual(images, ['corkboard', ...pinned]);
    assert.match(compose, /NODE_IMAGE: \$\{NODE_IMAGE:-node:24-slim\}/);
    const dockerfile = textOf('Dockerfile');
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    assert.deepEqual(new Set(bases), new Set(['$' + '{NODE_IMAGE}']));
    assert.match(dockerfile, /^ARG NODE_IMAGE=node:24-slim$/m);
  });
});

describe('compose.single.yaml', () => {
  const compose = textOf('compose.single.yaml').replaceAll(/^ *#.*\n/gm, '');

  it('hardens both containers, and publishes nothing but TLS on the loopback address', () => {
    const services = sectionsOf(sectionsOf(compose, 0).get('services') ?? '', 2);
    assert.deepEqual([...services.keys()], ['server', 'proxy']);
    for (const [name, service] of services) {
      assert.match(service, /<<: \*hardened[\s\S]*mem_limit:/, name);
      assert.doesNotMatch(service, /privileged|network_mode|read_only|cap_drop|security_opt/, name);
    }
    assert.doesNotMatch(services.get('server') ?? '', /ports:/);
    assert.match(services.get('proxy') ?? '', /ports: \["127\.0\.0\.1:80:80", "127\.0\.0\.1:443:443"\]/);
  });
});

describe('the files for systemd', () => {
  const unit = 'deploy/corkboard.service';

  it('are a valid unit', {
    skip: lacking(['systemd-analyze', () => runs('systemd-analyze', '--version')]),
  }, () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(ROOT, unit)], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /corkboard\.service/);
  });

  const tools = ['systemd-sysusers', 'systemd-tmpfiles'] as const;
  const missing = tools.map((tool): [string, () => boolean] => [tool, () => runs(tool, '--version')]);
  it('create the user and the folders of the unit', { skip: lacking(...missing) }, async (t) => {
    const root = await makeFolder(t);
    mkdirSync(join(root, 'etc'));
    const folders = ['/var/lib/corkboard', '/var/cache/corkboard'];
    const run = (tool: string, ...words: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(tool, words, { encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    };
    run('systemd-sysusers', `--root=${root}`, join(ROOT, 'deploy/sysusers.conf'));
    assert.match(
      readFileSync(join(root, 'etc/passwd'), 'utf8'),
      /^corkboard:x:\d+:\d+:Corkboard:\/var\/lib\/corkboard:\/usr\/sbin\/nologin$/m,
    );
    // Only root may give folders to a different user.
    if (process.getuid?.() !== 0) return;
    run('systemd-tmpfiles', `--root=${root}`, '--create', join(ROOT, 'deploy/tmpfiles.conf'));
    assert.deepEqual(
      folders.map((folder) => statSync(join(root, folder)).mode & 0o777),
      [0o700, 0o700],
    );
  });
});

describe('deploy/Caddyfile', { skip: lacking(['caddy', () => runs('caddy', 'version')]) }, () => {
  it('is valid', () => {
    const words = ['validate', '--adapter', 'caddyfile', '--config', join(ROOT, 'deploy/Caddyfile')];
    const { status, stderr } = spawnSync('caddy', words, {
      env: { ...process.env, CORKBOARD_DOMAIN: 'localhost', CORKBOARD_UPSTREAM: 'server:8080' },
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  });
});

describe('deploy/kubernetes', {
  skip: lacking(['kubectl', () => runs('kubectl', 'version', '--client')]),
}, () => {
  /** The resources of an overlay by kind, as text. */
  const resourcesOf = (overlay: string): ReadonlyMap<string, string> => {
    const words = ['kustomize', join(ROOT, 'deploy/kubernetes', overlay)];
    const { status, stdout, stderr } = spawnSync('kubectl', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const resources = stdout.split(/^---\n/m);
    return new Map(resources.map((text) => [/^kind: (\w+)$/m.exec(text)?.[1] ?? '', text]));
  };
  const count = (text: string, part: string) => text.split(part).length - 1;

  for (const [overlay, kinds, containers] of [
    ['folder', ['Deployment', 'PersistentVolumeClaim', 'Service'], 1],
    ['database', ['Deployment', 'PodDisruptionBudget', 'Service'], 2],
  ] as const) {
    it(`gives each container of "${overlay}" few privileges and settings that exist`, () => {
      const resources = resourcesOf(overlay);
      assert.deepEqual([...resources.keys()].sort(), kinds);
      const deployment = resources.get('Deployment') ?? '';
      for (const rule of [
        ...['allowPrivilegeEscalation: false', 'readOnlyRootFilesystem: true', 'drop:\n            - ALL'],
        ...['limits:\n            memory: ', 'mountPath: /scratch', 'image: registry.example.org/corkboard:'],
      ]) {
        assert.ok(count(deployment, rule) >= containers, rule);
      }
      for (const rule of ['runAsNonRoot: true', 'runAsUser: 1000', 'automountServiceAccountToken: false']) {
        assert.ok(deployment.includes(rule), rule);
      }
      // Kubernetes would set CORKBOARD_PORT to "tcp://…" for a service of this name.
      assert.match(deployment, /enableServiceLinks: false/);
      const variables = new Set(textOf('docs/settings.md').match(/CORKBOARD_\w+/g));
      for (const [, name = ''] of deployment.matchAll(/name: (CORKBOARD_\w+)/g)) {
        assert.ok(variables.has(name), name);
      }
      assert.doesNotMatch(resources.get('Service') ?? '', /admin/);
    });
  }
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
    // A test of the command checks the permissions of its folder.
    assert.match(operations, /^ {4}corkboard backup /m);
    assert.match(operations, /pg_dump [^`]+` \(under `umask 077`\)/);
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
