/** The records of the model that a scope shows, in the order of decision 4 (decisions 10, 12). */
import type { Scope } from '../../src/domain/scope.ts';
import type { Board, Event, Model, User } from './model.ts';

export function visibleBoards(model: Model, scope: Scope): readonly Board[] {
  const { boards } = scope;
  return byId(model.boards.filter((board) => boards === 'all' || boards.includes(board.id)));
}

/** With `of-boards`: users on a visible board, and actors and owners of events on one. */
export function visibleUsers(model: Model, scope: Scope): readonly User[] {
  const { users } = scope;
  if (users !== 'of-boards')
    return byId(model.users.filter((user) => users === 'all' || users.includes(user.id)));
  const boards = visibleBoards(model, scope);
  return byId(
    model.users.filter((user) =>
      boards.some(
        (board) =>
          isOnBoard(model, user, board) ||
          model.events.some(
            (event) => event.boardId === board.id && (event.actorId === user.id || event.ownerId === user.id),
          ),
      ),
    ),
  );
}

/** Decision 10; an imported points record also puts its user on the board. */
export function isOnBoard(model: Model, user: User, board: Board): boolean {
  const isPair = (one: { readonly userId: bigint; readonly boardId: bigint }) =>
    one.userId === user.id && one.boardId === board.id;
  if (model.members.some(isPair) || model.points.some(isPair)) return true;
  const acts = inOrder(model.events).filter(
    (event) => event.actorId === user.id && event.boardId === board.id,
  );
  const last = acts.findLast(
    (event) => event.type === 'board' && (event.action === 'followed' || event.action === 'unfollowed'),
  );
  return last === undefined ? acts.length > 0 : last.action === 'followed';
}

/** Events whose board, actor and owner are all visible, in the order of decision 4. */
export function visibleEvents(model: Model, scope: Scope): readonly Event[] {
  const boards = new Set(visibleBoards(model, scope).map((board) => board.id));
  const users = new Set(visibleUsers(model, scope).map((user) => user.id));
  return inOrder(model.events).filter(
    (event) => boards.has(event.boardId) && users.has(event.actorId) && users.has(event.ownerId),
  );
}

/** By timestamp, then by order of import, because the sort is stable. */
export function inOrder(events: readonly Event[]): readonly Event[] {
  return events.toSorted((one, other) => one.timestampMs - other.timestampMs);
}

function byId<T extends { readonly id: bigint }>(records: readonly T[]): readonly T[] {
  return records.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
