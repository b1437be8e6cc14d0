/**
 * A folder in which a case may change anything, inside folders in which nothing may change: a file
 * written there has escaped.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Complaint } from './target.ts';

/** Deep enough that a path that climbs a few levels stays inside the sandbox. */
const WORK = 'one/two/three/four/work';
const CANARIES = ['canary/owned.json', 'canary/owned', 'canary/package.json', 'package.json'];

export class Sandbox implements Disposable {
  /** Empty at the beginning of each case. */
  readonly work: string;
  readonly #root: string;
  readonly #temporary: string;
  readonly #temporaryBefore = process.env['TMPDIR'];
  readonly #untouched: ReadonlyMap<string, string>;

  /** Also makes this process create its temporary files here from now on. */
  constructor() {
    this.#root = mkdtempSync(join(tmpdir(), 'corkboard-fuzz-'));
    this.work = join(this.#root, WORK);
    this.#temporary = join(this.#root, 'temporary');
    mkdirSync(this.work, { recursive: true });
    mkdirSync(this.#temporary);
    for (let folder = dirname(this.work); folder !== dirname(this.#root); folder = dirname(folder))
      plantCanaries(folder);
    this.#untouched = this.#look();
    process.env['TMPDIR'] = this.#temporary;
  }

  /** Returns and reverts the changes outside the work folder, and empties the work folder. */
  check(): Complaint[] {
    const complaints: Complaint[] = [];
    const left = readdirSync(this.#temporary);
    if (left.length > 0) {
      complaints.push({ kind: 'temporary file left', what: left.map(withoutDigits).slice(0, 3).join(', ') });
    }
    const now = this.#look();
    for (const [path, content] of now) {
      if (this.#untouched.get(path) === content) continue;
      complaints.push({ kind: 'escaped file', what: `${path} was written` });
      rmSync(join(this.#root, path), { recursive: true, force: true });
    }
    for (const [path, content] of this.#untouched) {
      if (!now.has(path)) complaints.push({ kind: 'escaped file', what: `${path} was removed` });
      if (now.get(path) !== content) writeFileSync(join(this.#root, path), content);
    }
    for (const folder of [this.work, this.#temporary]) empty(folder);
    return complaints;
  }

  [Symbol.dispose](): void {
    if (this.#temporaryBefore === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = this.#temporaryBefore;
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** The files outside the work folder: content by path. */
  #look(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    const visit = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (path === this.work || path === this.#temporary) continue;
        if (entry.isDirectory()) visit(path);
        else
          found.set(
            relative(this.#root, path),
            entry.isFile() ? readFileSync(path, 'latin1').slice(0, 1000) : '?',
          );
      }
    };
    visit(this.#root);
    return found;
  }
}

function plantCanaries(folder: string): void {
  for (const name of CANARIES) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), `{"canary":"${name}"}`);
  }
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

function withoutDigits(name: string): string {
  return name.replace(/-[\dA-Za-z]{6}$/, '-…');
}
