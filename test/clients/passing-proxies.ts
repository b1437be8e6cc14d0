/**
 * Proxies that pass requests on to the server, with the settings of docs/operations.md on their
 * first port. The second port has the settings that the document warns of, if there are any.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APACHE_MODULES, nginxWith, type Places, type Program } from './proxies.ts';

const ROOT = join(import.meta.dirname, '../..');
const TYPES = 'application/json text/csv';

/** The site of `deploy/Caddyfile` at a port. */
function caddySite(port: number): string {
  const shipped = readFileSync(join(ROOT, 'deploy/Caddyfile'), 'utf8');
  return shipped.replaceAll(/^#.*\n/gm, '').replace('{$CORKBOARD_DOMAIN}', `http://127.0.0.1:${port}`);
}

function caddyWith({ folder, origin }: Places, sites: readonly string[]): Program {
  return {
    command: ['caddy', 'run', '--adapter', 'caddyfile', '--config', `${folder}/configuration`],
    // Otherwise it listens on a fixed port for changes of its configuration.
    configuration: ['{\n\tadmin off\n}', ...sites].join('\n'),
    variables: {
      ...{ CORKBOARD_UPSTREAM: new URL(origin).host, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    },
  };
}

/** `deploy/Caddyfile`, and the same with compression at its default. */
export function caddy(places: Places): Program {
  const [shipped, changed] = places.ports.map(caddySite);
  const transport = /\t+transport http \{\n.*\n\t+\}\n/;
  return caddyWith(places, [shipped ?? '', changed?.replace(transport, '') ?? '']);
}

/** `deploy/Caddyfile` with `encode`, and the same so that Corkboard does not compress. */
export function caddyThatEncodes(places: Places): Program {
  const [left, removed] = places.ports
    .map(caddySite)
    .map((site) => site.replace('\treverse_proxy', '\tencode gzip\n\treverse_proxy'));
  const remove = removed?.replace('header_up', 'header_up -Accept-Encoding\n\t\theader_up');
  return caddyWith(places, [left ?? '', remove ?? '']);
}

/** The configuration of docs/operations.md, and the same with compression and buffering. */
export function nginx({ folder, origin, ports: [documented, changed] }: Places): Program {
  const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, text = ''] = /^For nginx:\n\n((?:(?: {4}.*)?\n)+)/m.exec(operations) ?? [];
  const [zones = '', server = ''] = text.split(/^(?= *server \{)/m);
  const at = (port: number) =>
    server
      .replaceAll(/^ *(?:http2|ssl_\w+|server_name) .*\n/gm, '')
      .replace(/listen .*;/, `listen 127.0.0.1:${port};`)
      .replace('http://127.0.0.1:8080', origin);
  const compress = `gzip on; gzip_types ${TYPES}; proxy_set_header Accept-Encoding "";`;
  const servers = `${at(documented)} ${at(changed).replace('proxy_buffering off;', compress)}`;
  return nginxWith(folder, `${zones} ${servers}`);
}

/** With `return (pass)`, and with the rules of Varnish alone. */
export function varnish({ folder, origin, ports: [documented, changed] }: Places): Program {
  return {
    command: [
      ...(['varnishd', '-F', '-n', `${folder}/temporary`, '-f', `${folder}/configuration`] as const),
      ...['-a', `documented=127.0.0.1:${documented}`, '-a', `changed=127.0.0.1:${changed}`],
      ...['-s', 'malloc,64m', '-T', 'none'],
    ],
    configuration: `vcl 4.1;
      backend default { .host = "127.0.0.1"; .port = "${new URL(origin).port}"; }
      sub vcl_recv { if (local.socket == "documented") { return (pass); } }`,
  };
}

/** Without compression, and with it so that Corkboard does not compress. */
export function haproxy({ folder, origin, ports: [documented, changed] }: Places): Program {
  return {
    command: ['haproxy', '-db', '-f', `${folder}/configuration`],
    configuration: `
      defaults
        mode http
        timeout connect 5s
        timeout client 300s
        timeout server 300s
        default_backend corkboard
      frontend documented
        bind 127.0.0.1:${documented}
      frontend changed
        bind 127.0.0.1:${changed}
        compression algo gzip
        compression type ${TYPES}
        compression offload
      backend corkboard
        server corkboard ${new URL(origin).host}
`,
  };
}

/** Without and with mod_deflate. */
export function apache({ folder, origin, ports: [documented, changed] }: Places): Program {
  const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'filter', 'deflate'].map(
    (name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`,
  );
  const host = (port: number, more: string) => `
    Listen 127.0.0.1:${port}
    <VirtualHost 127.0.0.1:${port}>
      ProxyPass / ${origin}/
      ${more}
    </VirtualHost>`;
  return {
    command: ['apache2', '-d', folder, '-f', `${folder}/configuration`, '-D', 'FOREGROUND'],
    configuration: `${modules.join('\n')}
      ${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
      ServerName localhost
      DefaultRuntimeDir ${folder}
      PidFile ${folder}/pid
      ErrorLog ${folder}/error.log
      ${host(documented, '')}
      ${host(changed, `AddOutputFilterByType DEFLATE ${TYPES}`)}
    `,
  };
}

/** Without a cache, and with one in memory. */
export function squid({ folder, origin, ports: [documented, changed] }: Places): Program {
  return {
    command: ['squid', '-N', '-f', `${folder}/configuration`],
    configuration: `
http_port 127.0.0.1:${documented} accel defaultsite=localhost name=documented
http_port 127.0.0.1:${changed} accel defaultsite=localhost name=changed
cache_peer 127.0.0.1 parent ${new URL(origin).port} 0 no-query originserver
acl documented myportname documented
cache deny documented
http_access allow all
pid_filename ${folder}/pid
shutdown_lifetime 0 seconds
cache_log ${folder}/error.log
access_log none
coredump_dir ${folder}
`,
  };
}

/** At its defaults on both ports. */
export function trafficServer({ folder, origin, ports }: Places): Program {
  const here = ['sysconfdir', 'datadir', 'localstatedir', 'runtimedir', 'logdir', 'cachedir'];
  const files = {
    'runroot.yaml': [
      ...['prefix: /usr', 'bindir: /usr/bin', 'libdir: /usr/lib/trafficserver'],
      ...['libexecdir: /usr/lib/trafficserver/modules', ...here.map((name) => `${name}: ${folder}`)],
    ],
    'records.config': [
      `CONFIG proxy.config.http.server_ports STRING ${ports.map((port) => `${port}:ip-in=127.0.0.1`).join(' ')}`,
      // The user who starts it.
      'CONFIG proxy.config.admin.user_id STRING #-1',
    ],
    'remap.config': [`map / ${origin}/`],
    'ip_allow.yaml': [
      ...['ip_allow:', '  - apply: in', '    ip_addrs: 127.0.0.1', '    action: allow', '    methods: ALL'],
    ],
    'storage.config': [`${folder}/temporary 64M`],
  };
  for (const [name, lines] of Object.entries(files)) {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  }
  return { command: ['traffic_server', `--run-root=${folder}/runroot.yaml`], configuration: '' };
}
