/** Deletions in the reference model (decision 82), and as records of a bundle. */
import type { AdjustmentInput, Bundle, EventInput, MembershipInput } from './bundle.ts';
import { adjustmentOf, eventOf, fieldsOf, type Model } from './model.ts';

type Pair = Pick<MembershipInput, 'board_id' | 'user_id'>;

export interface Deletions {
  readonly users: readonly bigint[];
  readonly boards: readonly bigint[];
  readonly pins: readonly bigint[];
  readonly memberships: readonly Pair[];
  /** By id, or by all other fields. */
  readonly events: readonly (Pick<EventInput, 'id'> | EventInput)[];
  readonly points: readonly Pair[];
  readonly adjustments: readonly AdjustmentInput[];
}

export const NO_DELETIONS: Deletions = {
  ...{ users: [], boards: [], pins: [], memberships: [], events: [], points: [], adjustments: [] },
};

/** The model after deletions that cascade. Forgotten users stay. */
export function deleteFrom(model: Model, deletions: Deletions): Model {
  const isUser = (id: bigint) =>
    deletions.users.includes(id) && model.users.some((user) => user.id === id && !user.forgotten);
  const isBoard = (id: bigint) => deletions.boards.includes(id);
  const pins = model.pins.filter(
    ({ id, boardId, ownerId }) => deletions.pins.includes(id) || isBoard(boardId) || isUser(ownerId),
  );
  const isOf = (pairs: readonly Pair[], { userId, boardId }: { userId: bigint; boardId: bigint }) =>
    isUser(userId) ||
    isBoard(boardId) ||
    pairs.some((pair) => pair.user_id === userId && pair.board_id === boardId);
  const ids = deletions.events.flatMap(({ id }) => id ?? []);
  const events = deletions.events.flatMap((event) =>
    event.id === undefined ? fieldsOf(eventOf(event as EventInput)) : [],
  );
  const adjustments = deletions.adjustments.map((input) => fieldsOf(adjustmentOf(input)));
  return {
    ...model,
    users: model.users.filter(({ id }) => !isUser(id)),
    boards: model.boards.filter(({ id }) => !isBoard(id)),
    pins: model.pins.filter((pin) => !pins.includes(pin)),
    events: model.events.filter(
      (event) =>
        !(
          events.includes(fieldsOf(event)) ||
          (event.id !== undefined && ids.includes(event.id)) ||
          isUser(event.actorId) ||
          isUser(event.ownerId) ||
          isBoard(event.boardId) ||
          pins.some(({ id }) => id === event.pinId)
        ),
    ),
    members: model.members.filter((member) => !isOf(deletions.memberships, member)),
    points: model.points.filter((one) => !isOf(deletions.points, one)),
    adjustments: model.adjustments.filter((one) => !isOf([], one) && !adjustments.includes(fieldsOf(one))),
  };
}

/** What a full delivery of these kinds lacks of the model. */
export function lackingIn(model: Model, bundle: Bundle, kinds: readonly (keyof Deletions)[]): Deletions {
  const others = <K extends 'users' | 'boards' | 'pins'>(kind: K) =>
    kinds.includes(kind)
      ? model[kind].map(({ id }) => id).filter((id) => !bundle[kind].some((input) => input.id === id))
      : [];
  const memberships = model.members
    .map(({ boardId, userId }) => ({ board_id: boardId, user_id: userId }))
    .filter(
      (pair) =>
        !bundle.memberships.some(
          (input) => input.board_id === pair.board_id && input.user_id === pair.user_id,
        ),
    );
  return {
    ...NO_DELETIONS,
    ...{ users: others('users'), boards: others('boards'), pins: others('pins') },
    memberships: kinds.includes('memberships') ? memberships : [],
  };
}

/** The records of a bundle that makes the deletions. */
export function deletionRecords(deletions: Deletions): Readonly<Record<keyof Deletions, readonly object[]>> {
  const byId = (ids: readonly bigint[]) => ids.map((id) => ({ id, deleted: true }));
  const marked = (records: readonly object[]) => records.map((record) => ({ ...record, deleted: true }));
  return {
    users: byId(deletions.users),
    boards: byId(deletions.boards),
    pins: byId(deletions.pins),
    memberships: marked(deletions.memberships),
    events: marked(deletions.events),
    points: marked(deletions.points),
    adjustments: marked(deletions.adjustments),
  };
}
