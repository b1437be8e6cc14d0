/**
 * Names that show what else identifies the person (decision 63). Where a source gives no name,
 * imports take what it has: the address, its local part, a login, a digest, an IRI, the id.
 */

/** Names that stand for no person, so that they show nothing. */
const NAMES_OF_NO_PERSON = "('Unknown', 'Forgotten')";

/** Shorter ids occur in names by chance. */
const LONGEST_CHANCE_ID = 9_999;

/**
 * Whether the name of a row of users, or a half of it, contains an address or an IRI, the local
 * part of the person's own address, or the id; or is one word while the address is one that an
 * import has made up, because then both may be made of the same login. In SQL, because
 * publications compare by it (decision 19).
 */
export function isDerivedName(users: string): string {
  const text = `lower(${users}.name || ' ' || ${users}.first_name || ' ' || ${users}.last_name)`;
  const localPart = `lower(split_part(${users}.email, '@', 1))`;
  const digits = `replace(CAST(${users}.id AS VARCHAR), '-', '')`;
  const contains = (part: string) => `strpos(${text}, ${part}) > 0`;
  const begins = (scheme: string) => `strpos(' ' || ${text}, ' ${scheme}') > 0`;
  const isOfImport = [
    `(${localPart} <> '' AND ${contains(localPart)})`,
    `(lower(${users}.email) LIKE '%.invalid' AND strpos(${users}.name, ' ') = 0)`,
    `(${users}.id NOT BETWEEN -${LONGEST_CHANCE_ID} AND ${LONGEST_CHANCE_ID} AND ${contains(digits)})`,
  ];
  return `(${contains("'@'")} OR ${contains("'://'")} OR ${begins('mailto:')} OR ${begins('urn:')}
    OR (${users}.name NOT IN ${NAMES_OF_NO_PERSON} AND (${isOfImport.join(' OR ')})))`;
}
