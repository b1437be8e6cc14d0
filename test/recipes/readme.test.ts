/** The README: what it must contain, its links and commands, and its requests, which are run. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import packageFile from '../../package.json' with { type: 'json' };
import { allCommands } from '../cli/command-line-document.ts';
import { brokenLinks } from '../document-links.ts';
import { type Deployment, loadFiles, openDeployment } from '../model/deployment.ts';

const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const ADDRESS = 'http://127.0.0.1:8080';
const ORGANIZATION = 'demo';

const hasCurl = (() => {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** The lines of indented code. */
const COMMANDS = [...README.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line);
const REQUESTS = COMMANDS.filter((line) => line.startsWith('curl '));

describe('README.md', () => {
  it('says in three sentences what Corkboard is, and has a screenshot', () => {
    const [, introduction = ''] =
      /^# Corkboard\n([\s\S]*?)\n\n!\[[^\]]+\]\(docs\/console\.webp\)/.exec(README) ?? [];
    assert.equal(introduction.split(/[.](?=\s|$)/).filter((sentence) => sentence.trim() !== '').length, 3);
  });

  it('has the two commands, five requests, the readers, the status, and how to get help', () => {
    assert.ok(COMMANDS.includes('npm ci && npm start') && COMMANDS.includes('npm ci && npm test'));
    assert.equal(REQUESTS.length, 5);
    const readers = [...README.matchAll(/^\| an? ([^|]+) \|/gm)].map(([, reader]) => reader);
    assert.equal(readers.length, 5);
    const [, status = ''] = README.split('## Status and help');
    for (const words of ['An upgrade keeps', 'Ask questions', 'Report vulnerabilities']) {
      assert.ok(status.includes(words), words);
    }
    assert.ok(
      README.includes(`Version ${packageFile.version}.`) && README.includes(`-${packageFile.version}.tgz`),
    );
  });

  it('links to existing files and headings', () => {
    assert.deepEqual(brokenLinks('README.md'), []);
  });

  it('uses commands and options that exist', () => {
    const commands = allCommands();
    const options = new Set(commands.flatMap(([, { options }]) => options.map(({ long }) => long)));
    const used = COMMANDS.filter((line) => /^(?:npx )?corkboard /.test(line));
    assert.ok(used.length >= 5);
    for (const line of used) {
      const words = line.replace('npx ', '');
      assert.ok(
        commands.some(([name]) => name !== 'corkboard' && `${words} `.startsWith(`${name} `)),
        line,
      );
      for (const option of line.match(/--[a-z-]+/g) ?? []) assert.ok(options.has(option), line);
    }
  });
});

describe('the requests of the README', { skip: !hasCurl && 'curl is not on the PATH' }, () => {
  let deployment: Deployment;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'corkboard-readme-'));
    deployment = await openDeployment();
    const policy = readFileSync(join(ROOT, 'demo/policy.json'), 'utf8');
    await deployment.store.createOrganization(ORGANIZATION, { title: 'Demo', policy });
    await loadFiles(deployment.store, ORGANIZATION, [join(ROOT, 'demo')]);
  });
  after(async () => {
    await deployment.close();
    rmSync(folder, { recursive: true });
  });

  for (const request of REQUESTS) {
    it(`succeed: ${request.replace(/.*8080/, '')}`, async () => {
      const script = request.replace(ADDRESS, deployment.url).replace('curl ', 'curl --silent --fail ');
      const KEY = await deployment.makeKey(ORGANIZATION);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      execFile('sh', ['-c', script], { cwd: folder, env: { ...process.env, KEY } }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
      const body = await promise;
      if (request.includes('-o '))
        assert.match(readFileSync(join(folder, 'events.parquet'), 'latin1'), /^PAR1/);
      else assert.ok(JSON.parse(body) !== null);
    });
  }
});
