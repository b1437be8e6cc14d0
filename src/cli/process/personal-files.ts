/**
 * What an export of one user needs besides an export of the organization: which records concern the
 * user, and the files that are no records of a bundle.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dataset } from '../../dataset/dataset.ts';
import { FULL_SCOPE } from '../../domain/scope.ts';
import type { PersonalRecords } from '../../export/personal.ts';
import { explainLedger, renderExplanation } from '../../points/explanation.ts';
import { policyOf, readPolicy } from '../../points/policy.ts';

/** A user of a version. */
export interface PersonalData {
  /** The index of the user. */
  readonly user: number;
  readonly records: PersonalRecords;
}

/** Absent if the version has no such user. */
export async function findPersonal(dataset: Dataset, id: bigint): Promise<PersonalData | undefined> {
  const user = await dataset.findUser(FULL_SCOPE, { by: 'id', value: id });
  if (user === undefined) return undefined;
  const tables = dataset.tables();
  const indices = new Set<number>();
  for await (const pairs of tables.boardPeople()) {
    pairs.user.forEach((one, at) => {
      if (one === user) indices.add(pairs.board[at]!);
    });
  }
  const boards = new Set<bigint>();
  let index = 0;
  for await (const ids of tables.ids('boards')) {
    for (const boardId of ids) if (indices.has(index++)) boards.add(boardId);
  }
  return { user, records: { id, boards } };
}

/** Writes `points.txt`, every award and total of the user, and `README.txt`. */
export async function writePersonalFiles(
  folder: string,
  dataset: Dataset,
  { user, records }: PersonalData,
): Promise<void> {
  const mode = 0o600;
  await writeFile(join(folder, 'points.txt'), await pointsOf(dataset, user), { mode });
  await writeFile(join(folder, 'README.txt'), readmeOf(dataset, records.id), { mode });
}

async function pointsOf(dataset: Dataset, user: number): Promise<string> {
  const boards = await boardsOf(dataset, user);
  const policy = readPolicy(dataset.policy);
  const parts: string[] = [];
  for (const { board, boardId, title } of boards) {
    const ledger = await dataset.ledger({ scope: FULL_SCOPE, board, user });
    const explanation = renderExplanation(explainLedger(ledger, policyOf(policy, boardId)));
    parts.push(`Board ${boardId} ${title}\n\n${explanation.trimEnd()}\n`);
  }
  return parts.length === 0 ? 'No points on any board.\n' : parts.join('\n');
}

async function boardsOf(dataset: Dataset, user: number) {
  const { board } = await dataset.standings({ scope: FULL_SCOPE, range: {}, of: { user } });
  const wanted = new Set(board);
  const found: { board: number; boardId: bigint; title: string }[] = [];
  let at = 0;
  for await (const { id, title } of dataset.records('boards')) {
    for (let row = 0; row < id.length; row += 1, at += 1) {
      if (wanted.has(at)) found.push({ board: at, boardId: id[row]!, title: title.at(row) });
    }
  }
  return found;
}

function readmeOf({ organization, version }: Dataset, user: bigint): string {
  return `Data about user ${user} of ${organization.title}
Exported on ${new Date().toISOString()} from version ${version}

users        the user: address, names, roles, and properties from the learning platform
boards       the boards on which the user did or owns something, or is or was a member
pins         the pins that the user owns
memberships  the boards that the user is a member of
events       what the user did (actor_id), with the texts that the user wrote (body), and what
             others did with the user's content (owner_id), without their texts
points       points totals that were imported
adjustments  corrections of points, with their reasons
points.txt   every award of points, and how the totals are computed

A file without records is left out. Other people appear as numbers only.
organization.json has the settings of the organization, and policy.json its rules for points.

Not in here: earlier versions that are still kept, backups, and the log of the server.
`;
}
