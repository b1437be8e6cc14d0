/** Names of time zones. */

/** Whether `name` is an IANA time zone that this machine knows. */
export function isZone(name: string): boolean {
  // `Intl` also accepts offsets such as +01:00, but those have no name and no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
