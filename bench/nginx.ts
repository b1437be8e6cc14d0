/** The nginx of the system, with its own configuration; it sends the files of a folder. */
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPort, hasProgram, type Running, runningOf, untilListening } from './processes.ts';

const PROGRAM: string = 'nginx';

/**
 * Returns undefined if nginx is not installed. `folder` is for its configuration and temporary
 * files.
 */
export async function startNginx(
  root: string,
  folder: string,
  signal: AbortSignal,
): Promise<(Running & { readonly port: number }) | undefined> {
  if (!hasProgram(PROGRAM, '-v')) return undefined;
  const port = await findPort();
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  await writeFile(file, renderConfiguration(root, folder, port));
  const child = spawn(PROGRAM, ['-p', folder, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    signal,
  });
  const running = runningOf(child);
  await untilListening(running, port);
  return { ...running, port };
}

function renderConfiguration(root: string, folder: string, port: number): string {
  // If root runs nginx, its workers would otherwise run as a user who cannot read the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${join(folder, name)};`,
  );
  return `${user}
daemon off;
worker_processes auto;
pid ${join(folder, 'nginx.pid')};
error_log stderr error;
events { worker_connections 1024; }
http {
${places.join('\n')}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  default_type application/json;
  server {
    listen 127.0.0.1:${port};
    root ${root};
    gzip_static on;
  }
}
`;
}
