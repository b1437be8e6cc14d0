// `npm start`: builds what is missing or out of date, then serves the demo data in this process, so
// that signals reach the server. It is JavaScript, so that any version of Node.js can run it.
import { readFileSync } from 'node:fs';

if (process.features.typescript) {
  const { buildIfStale } = await import('./stale-build.ts');
  if (buildIfStale()) {
    stopWithShell();
    process.argv.splice(2, 0, 'demo');
    await import('../bin/corkboard.js');
  } else {
    process.exitCode = 1;
  }
} else {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stderr.write(
    `corkboard: npm start requires Node.js ${engines.node}, but this is Node.js ${process.versions.node}. Run "npm ci" first: it installs one into the checkout.\n`,
  );
  process.exitCode = 1;
}

// npm forwards a signal to the shell of the script, which ends without passing it on.
function stopWithShell() {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  watch.unref();
}
