/** The settings of an organization, as an export writes them beside its records (decision 53). */
import { basename } from 'node:path';
import { USER_POINTS_KEYS, type UserPointsKey } from '../dataset/dataset.ts';
import { AppError } from '../domain/app-error.ts';
import { shortened } from '../domain/shortened-text.ts';
import { readPolicy } from '../points/policy.ts';
import { isLine, LINE_RULE } from '../store/organization-name.ts';
import type { OrganizationEntry, Settings } from '../store/store.ts';
import { boolean, type Field, identifier, tags, text } from './fields/fields.ts';
import { readObject } from './fields/json.ts';
import { Refusal } from './fields/refusal.ts';
import { fileSource } from './input/bytes.ts';
import { lookAt } from './input/found-file.ts';
import { LONGEST_RECORD_BYTES } from './input/lines.ts';

const pointsKey: Field<UserPointsKey> = {
  type: USER_POINTS_KEYS.join(' or '),
  read(value, name) {
    const known = USER_POINTS_KEYS.find((key) => key === value);
    if (known === undefined) throw new Refusal(name, `must be ${USER_POINTS_KEYS.join(' or ')}`);
    return known;
  },
};

/** A text with the same rules as on the command line. */
const line: Field<string> = {
  type: 'line',
  read(value, name, isCell) {
    const given = text.read(value, name, isCell);
    if (given !== undefined && !isLine(given)) throw new Refusal(name, `must be ${LINE_RULE}`);
    return given;
  },
};

const names: Field<readonly string[]> = {
  type: tags.type,
  read(value, name, isCell) {
    const given = tags.read(value, name, isCell);
    return given && [...new Set(given)];
  },
};

/**
 * The members of `organization.json`. The camel case printed by `organizations show --json` is
 * accepted, too.
 */
const MEMBERS: Readonly<Record<string, readonly [keyof Settings | 'name', Field<unknown>]>> = {
  name: ['name', text],
  id: ['id', identifier],
  title: ['title', line],
  domain: ['domain', line],
  category_id: ['categoryId', identifier],
  course_lookup: ['courseLookup', boolean],
  lms_user_properties: ['lmsUserProperties', names],
  user_points_key: ['userPointsKey', pointsKey],
};

/**
 * The settings in the files. If there is an `organization.json` without a `policy.json`, the policy
 * is the default policy. Throws `option-malformed`, `settings-refused`, `policy-malformed` and
 * `file-unreadable`.
 */
export async function readSettings(
  paths: readonly string[],
  followsLinks: boolean,
): Promise<Partial<Settings>> {
  const organization = oneNamed('organization.json', paths);
  const policyFile = oneNamed('policy.json', paths);
  if (organization === undefined && policyFile === undefined) {
    throw new AppError(
      'option-malformed',
      'The folders contain no organization.json or policy.json. Leave out --settings.',
    );
  }
  const policy = policyFile === undefined ? '' : await readFound(policyFile, followsLinks);
  readPolicy(policy);
  if (organization === undefined) return { policy };
  return { ...readOrganization(organization, await readFound(organization, followsLinks)), policy };
}

/**
 * Throws `settings-refused` for a different id: every event contains the id, so it cannot change
 * once there is data.
 */
export function checkSameOrganization({ id }: Partial<Settings>, entry: OrganizationEntry): void {
  if (id === undefined || id === entry.settings.id || entry.version === undefined) return;
  throw new AppError(
    'settings-refused',
    `The settings belong to the organization with id ${id}, but ${entry.name} has id ${entry.settings.id}. Import into a new organization, or leave out --settings.`,
  );
}

function oneNamed(name: string, paths: readonly string[]): string | undefined {
  const [first, second] = paths.filter((path) => basename(path) === name);
  if (second === undefined) return first;
  throw new AppError('option-malformed', `There are two files named ${name}. Import each folder by itself.`);
}

async function readFound(path: string, followsLinks: boolean): Promise<string> {
  const found = await lookAt(path, followsLinks);
  const identity = typeof found === 'string' || followsLinks ? undefined : found.identity;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of fileSource(path, path, identity).read(true)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LONGEST_RECORD_BYTES)
      throw new AppError('settings-refused', `${path} is longer than 16 MiB.`);
  }
  return Buffer.concat(chunks).toString();
}

function readOrganization(path: string, json: string): Partial<Settings> {
  try {
    const entries = Object.entries(readObject(json)).map(([name, value]) => {
      const member = snakeCase(name);
      if (!Object.hasOwn(MEMBERS, member)) throw new Refusal(name, 'is not a setting');
      const [setting, field] = MEMBERS[member]!;
      return [setting, field.read(value, name, false)] as const;
    });
    const twice = entries.find(([setting], place) =>
      entries.slice(0, place).some(([one]) => one === setting),
    );
    if (twice !== undefined) throw new Refusal(twice[0], 'is given twice, in two spellings');
    // `name` is the name at the export. Here the command line names the organization.
    const given = entries.filter(([setting, value]) => setting !== 'name' && value !== undefined);
    return Object.fromEntries(given);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new AppError('settings-refused', `${path}: ${shortened(error.field)} ${error.reason}.`);
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
