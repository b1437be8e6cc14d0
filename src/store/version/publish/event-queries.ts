/** Queries over the events of a version with the ids of what they refer to. */
import { type CopiedTable, quoted } from '../../version-tables.ts';

/** The name of a table in a query: that of the open file, or of one that is attached. */
export type NameTable = (table: CopiedTable) => string;

/** Events as records identify them: `sequence`, the id, and all fields with ids; and their body. */
export function identifiedEvents(name: NameTable, where: string): string {
  return `
    SELECT t.sequence, t.id, k.type, k.action, o.id AS owner_id, a.id AS actor_id, b.id AS board_id,
      p.id AS pin_id, t.timestamp_ms, t.body
    FROM ${name('events')} t JOIN ${name('kinds')} k ON k.ix = t.kind
    JOIN ${name('users')} o ON o.ix = t.${quoted('owner')} JOIN ${name('users')} a ON a.ix = t.actor
    JOIN ${name('boards')} b ON b.ix = t.board LEFT JOIN ${name('pins')} p ON p.ix = t.pin
    WHERE ${where}`;
}

/** Records in the open file that events were deleted at `deleted`, a sequence (decision 82). */
export function insertDeletedEvents(name: NameTable, where: string, deleted: number): string {
  return `
    INSERT INTO deleted_events
    SELECT sequence, ${deleted}, board_id, actor_id, owner_id, pin_id IS NOT NULL, timestamp_ms
    FROM (${identifiedEvents(name, where)}) ORDER BY sequence`;
}
