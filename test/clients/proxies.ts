/** Programs of others that run between a client and the server, each on a free port. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../postgres/throwaway.ts';
import { runs } from '../recipes/blocks.ts';
import { until } from '../server/stand.ts';

export interface RunningProgram {
  /** Where its two ports are. */
  readonly urls: readonly [string, string];
  close(): Promise<void>;
}

export interface CachingProxy {
  /** Obeys what responses say about caches. */
  readonly obedient: string;
  /** Keeps responses although they are private: a cache that only one client uses. */
  readonly keeping: string;
  close(): Promise<void>;
}

export interface Places {
  readonly folder: string;
  readonly origin: string;
  /** Of the two proxies. */
  readonly ports: readonly [number, number];
}

export interface Program {
  readonly command: readonly [program: string, ...words: string[]];
  /** The contents of the file `configuration` in the folder. */
  readonly configuration: string;
  /** Environment variables besides those of this process. */
  readonly variables?: Readonly<Record<string, string>>;
}

export async function openProxy(
  origin: string,
  describe: (places: Places) => Program,
): Promise<CachingProxy> {
  const { urls, close } = await openProgram(origin, describe);
  const [obedient, keeping] = urls;
  return { obedient, keeping, close };
}

/** Starts a program, and waits until it accepts connections on both ports. */
export async function openProgram(
  origin: string,
  describe: (places: Places) => Program,
): Promise<RunningProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-proxy-'));
  for (const name of ['obedient', 'keeping', 'temporary']) mkdirSync(join(folder, name));
  // A program that starts as root continues as a different user.
  for (const name of ['.', 'obedient', 'keeping', 'temporary']) chmodSync(join(folder, name), 0o777);
  const ports = await Promise.all([findPort(), findPort()]);
  const { command, configuration, variables } = describe({ folder, origin, ports });
  writeFileSync(join(folder, 'configuration'), configuration);
  const [program, ...words] = command;
  const output = openSync(join(folder, 'output.log'), 'a');
  const env = { ...process.env, ...variables };
  const child = spawn(program, words, { stdio: ['ignore', output, output], env });
  closeSync(output);
  const ended = once(child, 'exit');
  const log = () =>
    ['error.log', 'output.log']
      .map((name) => join(folder, name))
      .map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
      .join('');
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const port of ports) {
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`${program} ended: ${log()}`);
        return await accepts(port);
      });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { urls: [`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`], close };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export function hasNginx(): boolean {
  const { status, stderr } = spawnSync('nginx', ['-V'], { encoding: 'utf8' });
  return status === 0 && stderr.includes('http_slice_module');
}

/** `http`: the content of this block. */
export function nginxWith(folder: string, http: string): Program {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/temporary/${name};`,
  );
  return {
    command: ['nginx', '-p', folder, '-e', `${folder}/error.log`, '-c', `${folder}/configuration`],
    configuration: `
      daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
      events {}
      http { access_log off; ${temporary.join(' ')} ${http} }`,
  };
}

/** Divides each response into parts that it requests and keeps separately. */
export function nginx({ folder, origin, ports: [obedient, keeping] }: Places): Program {
  return nginxWith(
    folder,
    `
        proxy_cache_path ${folder}/obedient keys_zone=obedient:1m;
        proxy_cache_path ${folder}/keeping keys_zone=keeping:1m;
        proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache_revalidate on;
        add_header X-Cache $upstream_cache_status always;
        server {
          listen 127.0.0.1:${obedient};
          location / {
            proxy_pass ${origin}; proxy_cache obedient; proxy_cache_valid 1h;
            proxy_cache_key $request_uri;
          }
        }
        server {
          listen 127.0.0.1:${keeping};
          location / {
            slice 64k; proxy_set_header Range $slice_range;
            proxy_pass ${origin}; proxy_cache keeping; proxy_cache_valid 200 206 1s;
            proxy_ignore_headers Cache-Control; proxy_cache_key "$request_uri $slice_range";
          }
        }`,
  );
}

export const APACHE_MODULES = '/usr/lib/apache2/modules';

export function hasApache(): boolean {
  return existsSync(APACHE_MODULES) && runs('apache2', '-v');
}

/** Keeps whole responses, and takes ranges from them. */
export function apache({ folder, origin, ports: [obedient, keeping] }: Places): Program {
  const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'cache', 'cache_disk'].map(
    (name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`,
  );
  const host = (port: number, name: string, more = '') => `
    Listen 127.0.0.1:${port}
    <VirtualHost 127.0.0.1:${port}>
      CacheRoot ${folder}/${name}
      CacheEnable disk /
      CacheHeader on
      CacheIgnoreNoLastMod on
      CacheMaxFileSize 100000000
      ${more}
      ProxyPass / ${origin}/
    </VirtualHost>`;
  return {
    command: ['apache2', '-d', folder, '-f', `${folder}/configuration`, '-D', 'FOREGROUND'],
    configuration: `${modules.join('\n')}
      ${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
      ServerName localhost
      DefaultRuntimeDir ${folder}
      PidFile ${folder}/pid
      ErrorLog ${folder}/error.log
      ${host(obedient, 'obedient')}
      ${host(keeping, 'keeping', 'CacheStorePrivate on')}
    `,
  };
}
