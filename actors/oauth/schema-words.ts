/**
 * Describes an answer that is JSON but not in the standard's format. The SDK's schemas report such errors as JSON, which
 * people cannot read.
 * @see OAU-7 in docs/specification.md
 */

/** A list may have thousands of items, each of them wrong. */
const maxPlaces = 8;

/**
 * @param what whose answer it is, as in `its metadata`
 * @returns undefined for any other error
 */
export function schemaWords(thrown: unknown, what: string): string | undefined {
  if (thrown instanceof SyntaxError) return `${what} is no JSON`;
  const { name, issues } = (thrown ?? {}) as { readonly name?: unknown; readonly issues?: unknown };
  if ((name !== 'ZodError' && name !== '$ZodError') || !Array.isArray(issues)) return undefined;
  const places = new Set(issues.map((issue) => placeOf(issue as { readonly path?: unknown })));
  places.delete('');
  if (places.size === 0) return `${what} is no JSON object`;
  const more = places.size > maxPlaces ? ` and ${places.size - maxPlaces} more` : '';
  return `${what} has no valid ${[...places].slice(0, maxPlaces).join(', ')}${more}`;
}

function placeOf({ path }: { readonly path?: unknown }): string {
  // A union has its issues one level down, and no path itself.
  return Array.isArray(path) ? path.map(String).join('.').slice(0, 100) : '';
}
