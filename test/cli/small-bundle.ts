/** A bundle that fits on a screen: three users, two boards, and events that earn points. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SMALL_BUNDLE = {
  'users.csv':
    'id,email,name,lms.login\n1,ada@x.example,Ada L,ada\n2,bob@x.example,Bob B,bob\n3,eve@x.example,Eve E,bob2\n',
  'boards.csv': 'id,title,course_id\n7,Rhetoric,RHET\n9007199254740993,Far,FAR\n',
  'pins.csv': 'id,board_id,owner_id,title,body\n70,7,1,Irony,one two three\n',
  'events.csv':
    'type,action,owner_id,actor_id,board_id,pin_id,timestamp\n' +
    'pin,created,1,1,7,70,2024-01-01T10:00:00Z\n' +
    'pin,commented,1,2,7,70,2024-01-02T10:00:00Z\n' +
    'board,followed,1,2,9007199254740993,,2024-01-03T10:00:00Z\n',
  'README.txt': 'What this is.\n',
};

/** Writes the bundle, with other contents for some files, and returns its folder. */
export function writeSmallBundle(folder: string, changes: Readonly<Record<string, string>> = {}): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries({ ...SMALL_BUNDLE, ...changes }))
    writeFileSync(join(folder, name), text);
  return folder;
}

/**
 * The same users and boards with forty events of half a megabyte: more than the buffers between a
 * server and a client hold.
 */
export function writeLargeBundle(folder: string): string {
  const visits = Array.from(
    { length: 40 },
    (_, second) => `pin,visited,1,1,7,70,2024-01-01T10:00:${String(second).padStart(2, '0')}Z\n`,
  );
  return writeSmallBundle(folder, {
    'pins.csv': `id,board_id,owner_id,title,body\n70,7,1,Long,${'x'.repeat(500_000)}\n`,
    'events.csv': `type,action,owner_id,actor_id,board_id,pin_id,timestamp\n${visits.join('')}`,
  });
}
