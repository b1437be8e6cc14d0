/** Names of time zones. */

/** Whether it names an IANA time zone that this machine knows. */
export function isZone(name: string): boolean {
  // An offset such as +01:00 is a zone to Intl, but it has no name and no summer time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
