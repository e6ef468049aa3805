/** The oldest Node.js that the package runs on, as `engines` in package.json. @see PKG-1 in docs/specification.md */

const [leastMajor, leastMinor] = [20, 19];

export const oldestNode = `${leastMajor}.${leastMinor}`;

/** Whether a version such as `18.19.1` is older than that. */
export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
