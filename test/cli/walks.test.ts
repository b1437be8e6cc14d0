/**
 * Random walks of imports, erasures, renamings, removals, backups, restores, copies and rollbacks,
 * of which some are killed, in a data folder and in a database, a third of these with the chunks in
 * a folder, half of them beside a server. After each step, every key opens the current data of its
 * own organization without any erased user, `check` finds nothing or names what is left, and
 * repeating the command completes it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { get } from '../model/client.ts';
import { until } from '../server/stand.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { runUntilStep } from './killed-steps.ts';
import { newPlace, PLACE_KINDS, type Place, type PlaceKind, serving } from './places.ts';
import { inFolder, remainsOf } from './remains.ts';
import { serving as startServing, stop } from './serving.ts';
import {
  adopted,
  type Backup,
  forgotten,
  isNamed,
  NAMES,
  type Organization,
  published,
  restored,
  type State,
  type Step,
  walksOf,
  withOrganization,
} from './walks.ts';
import '../without-coverage.ts';

const WALKS = IS_LONG ? 250 : 10;
/** A killed one of these may be followed by other commands. */
const CONTINUABLE: ReadonlySet<Step['act']> = new Set(['import', 'rename', 'rollback', 'backup']);
/** Refuses a name that an unfinished renaming still uses. */
const IN_USE = /is still in use: a renaming of/;
/** What a key opens that the server does not know. */
const UNKNOWN = '401 key-unknown';
/** Where a command is killed whose number of steps is not known yet. */
const FEW_STEPS = 12;

const folder = temporaryFolder();
const addressOf = (identity: number, user: number) => `walker-${identity}-${user}-x@walks.example`;

interface Command {
  readonly words: readonly string[];
  /** Undefined: the command must be refused. */
  readonly after: State | undefined;
  readonly backup?: Backup;
  readonly isKillable: boolean;
}

class Walk {
  readonly #place: Place;
  readonly #folder: string;
  /** How many steps commands had that ended, by their first word. */
  readonly #steps: Map<string, number>;
  readonly #backups: Backup[] = [];
  /** Keys that were ever created, with their organizations. */
  readonly #keys = new Map<string, number>();
  readonly #persons: [identity: number, user: number][] = [];
  /** Keys that a killed restore may have added. */
  readonly #maybeKeys = new Set<string>();
  #state: State = [];
  /** Whether a command was killed and not run again, so that `check` may name what it has left. */
  #isUntidy = false;
  /** Names between which a renaming was killed: until it is finished, both may mean the same. */
  readonly #ambiguous: string[] = [];
  #machine: Step['machine'] = 0;
  #url: string | undefined;
  #count = 0;

  constructor(place: Place, folder: string, steps: Map<string, number>) {
    const { cache } = place.options;
    this.#place = { ...place, options: { ...place.options, ...(cache && { cache: join(folder, 'cache') }) } };
    this.#folder = folder;
    this.#steps = steps;
    mkdirSync(folder);
  }

  /** With `hasFolder`, the chunks of a database are in a folder of their own, like in a bucket. */
  async start(hasFolder: boolean): Promise<void> {
    if (hasFolder && this.#place.options.database !== undefined) {
      const chunks = join(this.#folder, 'chunks');
      mkdirSync(chunks);
      const { code, stderr } = await run(['migrate', '--bucket', chunks, ...this.#placeWords()]);
      assert.equal(code, 0, stderr);
    }
    for (const name of NAMES.slice(0, 2)) {
      await this.#take(this.#import(undefined, name));
      await this.#createKey(this.#state.find(isNamed(name))!);
    }
    await this.#take(this.#backUp());
  }

  /**
   * Takes the steps beside a server, or opens one after each step. The server is a process of its
   * own: reading its SQLite files here would drop its locks.
   */
  async go(t: TestContext, steps: readonly Step[], hasServer: boolean): Promise<void> {
    if (!hasServer) return await this.#goOn(steps);
    const server = await startServing(t, ['serve', '--workers', '1', ...this.#placeWords()]);
    this.#url = new URL(server.printed['Variant A']!).origin;
    await this.#goOn(steps);
    await stop(server, 'SIGTERM');
  }

  async #goOn(steps: readonly Step[]): Promise<void> {
    for (const [at, step] of steps.entries()) {
      try {
        await this.#step(step);
      } catch (error) {
        throw new Error(`step ${at + 1} of ${JSON.stringify(steps.slice(0, at + 1))}: ${error}`, {
          cause: error,
        });
      }
    }
  }

  async #step(step: Step): Promise<void> {
    const { which, act, machine } = step;
    this.#machine = machine;
    const one = this.#state[which % (this.#state.length || 1)];
    if (act === 'key' && one !== undefined) await this.#createKey(one);
    const command = this.#commandOf(step, one);
    if (command !== undefined) await this.#take(command, step);
  }

  #commandOf({ act, which, other }: Step, one: Organization | undefined): Command | undefined {
    const unused = NAMES.filter((name) => !this.#state.some(isNamed(name)));
    const backup = this.#backups[other % (this.#backups.length || 1)];
    switch (act) {
      case 'import':
        return one === undefined ? this.#import(undefined, unused[0]!) : this.#import(one, one.name);
      case 'backup':
        return this.#backUp();
      case 'restore':
        return backup && this.#restore(backup, undefined);
      case 'restore-one': {
        const name = NAMES[which % NAMES.length]!;
        const isUnknown = !this.#state.some(isNamed(name));
        if (isUnknown && this.#ambiguous.some((one) => isNamed(one)({ name }))) return undefined;
        return backup && this.#restore(backup, name);
      }
      case 'copy':
        return backup && this.#copy(backup, NAMES[which % NAMES.length]!);
      case 'key':
        return undefined;
      default:
        return one && this.#change(act, one, other);
    }
  }

  #change(act: Step['act'], one: Organization, other: number): Command | undefined {
    const named = ['--organization', one.name];
    const users = [...one.users];
    const isKillable = true;
    switch (act) {
      case 'forget': {
        const user = users[other % users.length]!;
        const words = ['forget', ...named, '--user', String(user)];
        return { words, after: withOrganization(this.#state, forgotten(one, user)), isKillable };
      }
      case 'rename': {
        const newName = NAMES[other % NAMES.length]!;
        if (newName === one.name) return undefined;
        const isTaken = this.#state.some((each) => each !== one && isNamed(newName)(each));
        const words = ['organizations', 'rename', one.name, newName];
        const after = isTaken ? undefined : withOrganization(this.#state, { ...one, name: newName });
        return { words, after, isKillable };
      }
      case 'remove': {
        const after = this.#state.filter((each) => each !== one);
        return { words: ['organizations', 'remove', one.name, '--yes'], after, isKillable };
      }
      case 'rollback': {
        if (one.versions === undefined) return undefined;
        const [number, versionUsers] = [...one.versions][other % one.versions.size]!;
        // What was erased stays so, and the current version is there already.
        const after = versionUsers.size === one.users.size ? one : published(one, versionUsers);
        const words = ['rollback', ...named, '--to', String(number)];
        return { words, after: withOrganization(this.#state, after), isKillable };
      }
      default: {
        const configure = ['organizations', 'configure', one.name, '--keep-events', '2400 months'];
        // Nothing is as old, but the command publishes or tidies like any other.
        const words = one.hasRule ? ['expire', ...named, '--yes'] : configure;
        return { words, after: withOrganization(this.#state, { ...one, hasRule: true }), isKillable };
      }
    }
  }

  #import(one: Organization | undefined, name: string): Command {
    this.#count += 1;
    const identity = one?.identity ?? this.#count;
    const user = this.#count;
    this.#persons.push([identity, user]);
    const file = join(this.#folder, `users-${user}.ndjson`);
    const record = { id: user, email: addressOf(identity, user), name: addressOf(identity, user) };
    writeFileSync(file, `${JSON.stringify(record)}\n`);
    const fresh = { identity, name, users: new Set<number>(), erased: new Set<number>() };
    const before = one ?? { ...fresh, versions: new Map(), keys: new Set<string>(), hasRule: false };
    const after = published(before, new Set([...before.users, user]));
    return {
      words: ['import', file, '--organization', name],
      after: withOrganization(this.#state, after),
      isKillable: one !== undefined,
    };
  }

  #backUp(): Command {
    const backup = { folder: join(this.#folder, `backup-${this.#backups.length}`), state: this.#state };
    return { words: ['backup', backup.folder], after: this.#state, backup, isKillable: true };
  }

  #restore({ folder: from, state }: Backup, name: string | undefined): Command {
    const chosen = name === undefined ? [] : ['--organization', name];
    const after = restored(this.#state, state, name === undefined ? undefined : [name]);
    return { words: ['restore', from, '--replace', ...chosen], after, isKillable: true };
  }

  #copy({ folder: from, state }: Backup, name: string): Command {
    const { data, database } = this.#place.options;
    const original = state.find(isNamed(name));
    const isThere = this.#state.some((one) => isNamed(name)(one) || one.identity === original?.identity);
    const after =
      original && !isThere ? withOrganization(this.#state, adopted(original, undefined)) : undefined;
    const words = [
      'copy',
      '--from',
      from,
      '--to',
      database ?? data,
      '--organization',
      original?.name ?? name,
    ];
    return { words, after, isKillable: true };
  }

  async #createKey(one: Organization): Promise<void> {
    const { key } = await runJson(['keys', 'create', '--organization', one.name, ...this.#placeWords()]);
    this.#keys.set(key, one.identity);
    this.#state = withOrganization(this.#state, { ...one, keys: new Set([...one.keys, key]) });
  }

  async #take(command: Command, { killed, isRepeated, act }: Partial<Step> = {}): Promise<void> {
    const { words, after, backup, isKillable } = command;
    const whole = [...words, ...this.#placeWords(words[0] === 'copy')];
    const isTried = killed !== undefined && isKillable && after !== undefined;
    const isKilled = isTried && (await this.#kill(whole, killed));
    if (isKilled) {
      const reached = await this.#assertEither(after);
      if (!isRepeated && CONTINUABLE.has(act!)) {
        this.#isUntidy = true;
        if (act === 'rename') this.#ambiguous.push(...words.slice(2));
        this.#state = reached;
        await this.#assertState(`${words.join(' ')}, killed`);
        return;
      }
    }
    const { code, stderr } = await run(whole);
    const result = `${words.join(' ')}: ${stderr}`;
    if (this.#isUntidy && code === 1 && IN_USE.test(stderr)) return await this.#assertState(result);
    if (after === undefined) assert.equal(code, 1, `${result} was not refused`);
    // A command that was killed after all of its work may have nothing left to do.
    else if (!isTried) assert.equal(code, 0, result);
    else assert.notEqual(code, null, result);
    const isCounted = !isTried || !act?.startsWith('restore');
    if (after !== undefined) {
      this.#state = isCounted ? after : after.map((one) => ({ ...one, versions: undefined }));
    }
    if (backup !== undefined) this.#backups.push(backup);
    await this.#assertState(result);
  }

  #placeWords(isCopy = false): readonly string[] {
    const { data, database, cache } = this.#place.options;
    if (database === undefined) return isCopy ? [] : ['--data', data];
    const cached = ['--cache', join(cache!, `${this.#machine}`)];
    return isCopy ? cached : ['--database', database, '--data', data, ...cached];
  }

  /** Returns whether the command was killed before it ended. */
  async #kill(whole: readonly string[], killed: number): Promise<boolean> {
    const kind = whole
      .slice(0, 2)
      .join(' ')
      .replace(/ .*[/-].*/, '');
    const count = this.#steps.get(kind) ?? FEW_STEPS;
    const { isKilled, steps } = await runUntilStep(whole, 1 + Math.floor(killed * count));
    // Half as many more, so that the number is found that it has.
    this.#steps.set(kind, isKilled ? Math.max(count, Math.ceil(killed * count * 1.5)) : steps);
    return isKilled;
  }

  /** After a kill: the state is that before or that after, for all organizations alike. */
  async #assertEither(after: State): Promise<State> {
    const before = this.#state;
    // The running server may not have noticed a publication yet.
    const seen = await this.#observe(undefined);
    const sinceBefore = this.#differences(seen, before, after);
    const untilAfter = this.#differences(seen, after, before);
    const isEither = sinceBefore.length === 0 || untilAfter.length === 0;
    assert.ok(isEither, `neither ${sinceBefore.join('; ')} nor ${untilAfter.join('; ')}`);
    for (const one of after) {
      const known = before.find(({ identity }) => identity === one.identity)?.keys;
      for (const key of one.keys) if (!known?.has(key)) this.#maybeKeys.add(key);
    }
    const names = await this.#names();
    const isAfter = untilAfter.length === 0 && namesOf(after).join() === names.join();
    return isAfter ? after : before;
  }

  async #names(): Promise<readonly string[]> {
    const listed: { name: string }[] = await runJson(['organizations', 'list', ...this.#placeWords()]);
    return listed.map(({ name }) => name).sort();
  }

  async #assertState(about: string): Promise<void> {
    const differences = async () =>
      this.#differences(await this.#observe(this.#url), this.#state, this.#state);
    if (this.#url !== undefined)
      await until(async () => (await differences()).length === 0).catch(() => undefined);
    assert.deepEqual(await differences(), [], about);
    assert.deepEqual(await this.#names(), namesOf(this.#state), about);
    for (const { name, hasRule } of this.#state) {
      const { keptEvents } = await runJson(['organizations', 'show', name, ...this.#placeWords()]);
      assert.equal(keptEvents !== null, hasRule, `${about}: the rule of ${name}`);
    }
    const { code, stdout } = await run(['check', ...this.#placeWords()]);
    if (this.#isUntidy && code === 1) assert.match(stdout, /^Damage: .+/m);
    else assert.equal(code, 0, `${about}: ${stdout}`);
    const gone = this.#persons.filter(([identity, user]) => {
      const one = this.#state.find((each) => each.identity === identity);
      return one === undefined || one.erased.has(user);
    });
    const texts = gone.map(([identity, user]) => addressOf(identity, user));
    // Caches are tidied when a command on their machine looks.
    for (const machine of [0, 1] as const) {
      this.#machine = machine;
      await this.#names();
    }
    if (texts.length > 0) assert.deepEqual(await remainsOf(texts, this.#place), [], `${about}: ${texts}`);
  }

  /** For each key the addresses of the users that it opens, or the status and the code. */
  async #observe(running: string | undefined): Promise<ReadonlyMap<string, string>> {
    const ask = async (url: string) => {
      const seen = new Map<string, string>();
      for (const key of this.#keys.keys()) {
        const { status, text } = await get(`${url}/b/v1/users`, key);
        seen.set(key, status === 200 ? renderUsers(JSON.parse(text)) : `${status} ${JSON.parse(text).code}`);
      }
      return seen;
    };
    if (running !== undefined) return await ask(running);
    const { cache, ...options } = this.#place.options;
    const cached = cache === undefined ? {} : { cache: join(cache, `${this.#machine}`) };
    return await serving({ words: [], options: { ...options, ...cached } }, ask);
  }

  /**
   * Where what the keys open differs from a state. Keys that only the other state has may be known
   * already; then they open their own organization as it is, or nothing.
   */
  #differences(seen: ReadonlyMap<string, string>, state: State, other: State): readonly string[] {
    return [...seen].flatMap(([key, opened]) => {
      const identity = this.#keys.get(key);
      const one = state.find((each) => each.identity === identity);
      const expected = one?.keys.has(key) ? renderUsers(usersOf(one)) : UNKNOWN;
      const isMaybe =
        other.some((each) => each.identity === identity && each.keys.has(key)) !== (expected !== UNKNOWN);
      const own = one === undefined ? '' : renderUsers(usersOf(one));
      const mayDiffer = isMaybe || this.#maybeKeys.has(key);
      const mayOpen = ['', own, UNKNOWN].includes(opened) || opened.startsWith('503 ');
      if (opened === expected || (mayDiffer && mayOpen)) return [];
      return [`key ${key.split('_')[1]} of ${identity} opens ${opened} instead of ${expected}`];
    });
  }
}

function namesOf(state: State): readonly string[] {
  return state.map(({ name }) => name).sort();
}

function usersOf(one: Organization) {
  const all = new Set([...one.users, ...one.erased]);
  return [...all].map((id) => ({
    email: one.erased.has(id) ? `user-${id}@forgotten.invalid` : addressOf(one.identity, id),
  }));
}

function renderUsers(users: readonly { readonly email: string }[]): string {
  return users
    .map(({ email }) => email)
    .sort()
    .join(' ');
}

const STEP_COUNTS: Readonly<Record<PlaceKind, Map<string, number>>> = {
  folder: new Map(),
  database: new Map(),
};

for (const kind of PLACE_KINDS) {
  describe(`walks in a ${kind}`, () => {
    for (const [number, steps] of walksOf(seed, WALKS).entries()) {
      it(`walk ${number + 1}: ${steps.map(({ act, killed }) => act + (killed === undefined ? '' : '!')).join(', ')}`, async (t) => {
        tellSeed(t);
        const place = await newPlace(kind, folder);
        const walk = new Walk(place, join(folder, `${kind}-${number}`), STEP_COUNTS[kind]);
        await walk.start(number % 3 === 2);
        await walk.go(t, steps, number % 2 === 1);
        assert.deepEqual(inFolder(join(place.options.data, 'audit'), ['walks.example']), []);
      });
    }
  });
}
