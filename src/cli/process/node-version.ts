/** The versions of Node.js that Corkboard runs on. Imports nothing, so any version can load it. */

/** The same as `engines` in package.json. */
export const LEAST_NODE = '24.15';

/** Why a command cannot run on this version, like `20.20.2`; undefined if it can. */
export function refusalOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = LEAST_NODE.split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return (
    `Corkboard requires Node.js ${LEAST_NODE} or later, but this is Node.js ${version}. ` +
    'Install a newer version, or run "npx corkboard" in a checkout, which has its own.'
  );
}
