/**
 * Describes an answer that is JSON but not in the standard's format. The SDK's schemas report such errors as JSON, which
 * people cannot read.
 * @see OAU-7 in docs/specification.md
 */

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
  return places.size === 0 ? `${what} is no JSON object` : `${what} has no valid ${[...places].join(', ')}`;
}

function placeOf({ path }: { readonly path?: unknown }): string {
  // A union has its issues one level down, and no path itself.
  return Array.isArray(path) ? path.map(String).join('.').slice(0, 100) : '';
}
