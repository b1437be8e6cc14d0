/**
 * Runs the tutorials as a reader does: the blocks of each in their order, in one terminal and one
 * Python, against the demo or the service of the operator, and compares their output with the one
 * that the tutorial shows.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import packageFile from '../../package.json' with { type: 'json' };
import { ask, type Serving, serving } from '../cli/serving.ts';
import { type Block, blocksOf, lacking, runs } from './blocks.ts';
import { isShown, openSession, type Session } from './session.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'src/cli/main.ts');
const PYTHON = process.env['CORKBOARD_PYTHON'] ?? 'python3';

type Need = readonly [what: string, isThere: () => boolean];
const CURL = ['curl', () => runs('curl', '--version')] as const;
const JQ = ['jq', () => runs('jq', '--version')] as const;
const PANDAS = ['pandas', () => runs(PYTHON, '-c', 'import pandas')] as const;
const PYARROW = ['pyarrow', () => runs(PYTHON, '-c', 'import pyarrow')] as const;

/** Blocks that install something. A test compares them with the files that they repeat. */
const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  'first-day-as-an-operator.md': [
    '1. Install 1',
    '2. Create the user and the data folder 1',
    '5. Run it as a service 1',
  ],
  'from-key-to-dataframe.md': ['You need 1'],
  'grades-into-an-lms.md': [],
};
/** Blocks that show a refusal. */
const REFUSED = new Set(['3. Load your data 2']);

let folder: string;
let demo: Serving;
const ends: (() => void)[] = [];
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corkboard-tutorials-'));
  mkdirSync(join(folder, 'bin'));
  // The programs of the tutorials, as they are after the blocks that are not run.
  const programs = {
    corkboard: `exec ${process.execPath} ${MAIN} "$@"`,
    npx: 'exec "$@"',
    sudo: 'test "$1" != -u || shift 2; exec "$@"',
  };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  demo = await serve('demo', join(folder, 'data'), 'Key');
});
after(() => {
  ends.forEach((end) => void end());
  rmSync(folder, { recursive: true });
});

async function serve(command: 'demo' | 'serve', data: string, last?: string): Promise<Serving> {
  return await serving({ after: (end) => ends.push(end) }, [command, '--data', data], last);
}

interface Step {
  readonly block: Block;
  /** The output below the block; absent if the tutorial shows none. */
  readonly shown: string | undefined;
}

function stepsOf(document: string): readonly Step[] {
  const blocks = blocksOf(`tutorials/${document}`);
  return blocks.flatMap((block, at) => {
    if (block.language === 'text') return [];
    const next = blocks[at + 1];
    return [{ block, shown: next?.language === 'text' ? next.code : undefined }];
  });
}

/** A reader of a tutorial: a folder, a terminal, a Python, and a server. */
class Reader {
  readonly folder: string;
  readonly data: string;
  #server: Serving | undefined;
  readonly #sessions = new Map<string, Session>();

  constructor(name: string, data: string, server?: Serving) {
    this.folder = join(folder, name);
    this.data = data;
    this.#server = server;
    mkdirSync(this.folder);
  }

  async startServer(): Promise<void> {
    this.#server = await serve('serve', this.data);
  }

  /** Only the demo prints a key. */
  get #key(): string | undefined {
    return this.#server?.printed['Key'];
  }

  get #address(): string {
    return (this.#server?.printed['Variant A'] ?? '').replace(/\/a$/, '');
  }

  /** Runs a step, and waits until the server shows what the step has published. */
  async run({ block: { language, code }, shown }: Step, exitCode: number): Promise<void> {
    const places = this.#places();
    const here = places.reduce((text, [place, its]) => text.replaceAll(place, its), code);
    const publishes = this.#key !== undefined && /corkboard (?:import|forget)/.test(code);
    const earlier = publishes ? await this.#version() : undefined;
    const output = await this.#session(language).run(here);
    const text = places.reduce((now, [place, its]) => now.replaceAll(its || '\0', place), output.text);
    assert.equal(output.code, exitCode, text);
    if (shown !== undefined) assert.ok(isShown(shown, text), `printed:\n${text}`);
    while (publishes && (await this.#version()) === earlier) await sleep(50);
  }

  /** The addresses and folders of the tutorial, and those in their place here. */
  #places(): readonly (readonly [place: string, its: string])[] {
    return [
      ['http://127.0.0.1:8080', this.#address],
      ['cork_…', this.#key ?? 'cork_…'],
      ['/var/lib/corkboard', this.data],
      ['/var/backups', join(this.folder, 'backups')],
      ['/srv/school', join(this.folder, 'school')],
      [' -o corkboard -g corkboard', ''],
      [' -g corkboard', ''],
    ];
  }

  #session(language: string): Session {
    assert.ok(language === 'sh' || language === 'python', language);
    const open = this.#sessions.get(language);
    if (open !== undefined) return open;
    const session = openSession(language, language === 'sh' ? 'sh' : PYTHON, this.folder, {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      CORKBOARD_DATA: this.data,
      CORKBOARD_URL: `${this.#address}/a`,
      CORKBOARD_KEY: this.#key ?? '',
      NODE_NO_WARNINGS: '1',
    });
    this.#sessions.set(language, session);
    return session;
  }

  async #version(): Promise<unknown> {
    const { headers } = await ask(`${this.#address}/a/v1/events?limit=1`, this.#key);
    return headers['etag'];
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
  }
}

function describeTutorial(document: string, open: () => Reader, ...needs: readonly Need[]): void {
  describe(`docs/tutorials/${document}`, { skip: lacking(...needs) }, () => {
    let reader: Reader;
    before(() => {
      reader = open();
    });
    after(() => reader.close());
    for (const step of stepsOf(document)) {
      const { name, language } = step.block;
      if (step.block.code.includes('systemctl enable')) {
        it(`${name} starts a server (here without systemd)`, () => reader.startServer());
      }
      if (NOT_RUN[document]?.includes(name)) continue;
      const skip = language === 'python' && lacking(PANDAS, PYARROW);
      it(`${name} prints what the tutorial shows`, { skip, timeout: 300_000 }, () =>
        reader.run(step, REFUSED.has(name) ? 1 : 0),
      );
    }
  });
}

describeTutorial('from-key-to-dataframe.md', () => new Reader('analyst', join(folder, 'data'), demo), CURL);
describeTutorial(
  'grades-into-an-lms.md',
  () => new Reader('integrator', join(folder, 'data'), demo),
  CURL,
  JQ,
);
describeTutorial('first-day-as-an-operator.md', () => new Reader('operator', join(folder, 'service')), CURL);

describe('docs/tutorials', () => {
  const readDocument = (path: string) => readFileSync(join(ROOT, path), 'utf8');

  it('has only tutorials that run here, and that the README links', () => {
    const tutorials = readdirSync(join(ROOT, 'docs/tutorials')).sort();
    assert.deepEqual(tutorials, Object.keys(NOT_RUN).sort());
    const readme = readDocument('README.md');
    for (const name of tutorials) assert.ok(readme.includes(`(docs/tutorials/${name})`), name);
  });

  it('may show a part of a line as … and columns in any width, and nothing else', () => {
    assert.ok(isShown('id    …\nkey: cork_….\n', 'id  7\nkey: cork_a.  \n'));
    for (const output of [
      'id  7\nkey: cork_a,\n',
      'id  7\n',
      'id  7\n\nkey: cork_a.\n',
      'id 7\nkey: cork_a.\n',
    ]) {
      assert.ok(!isShown('id    …\nkey: cork_….\n', output), output);
    }
  });

  it('leaves out only blocks that exist', () => {
    for (const [document, names] of Object.entries(NOT_RUN)) {
      const blocks = stepsOf(document).map(({ block }) => block.name);
      assert.deepEqual(
        names.filter((name) => !blocks.includes(name)),
        [],
      );
    }
  });

  it('installs the packed version, and the service as the header of its unit says', () => {
    const [install, user, service] = (NOT_RUN['first-day-as-an-operator.md'] ?? []).map((name) => {
      const step = stepsOf('first-day-as-an-operator.md').find(({ block }) => block.name === name);
      return step?.block.code.replaceAll('sudo ', '').trimEnd().split('\n') ?? [];
    });
    assert.equal(
      install?.at(-1),
      `npm install --global ./packages/corkboard-server-${packageFile.version}.tgz`,
    );
    const header = [...readDocument('deploy/corkboard.service').matchAll(/^# {3}(.*)$/gm)];
    assert.deepEqual(
      header.flatMap(([, line = '']) => line.split(' && ')),
      [...(user ?? []), ...(service ?? [])],
    );
  });
});
