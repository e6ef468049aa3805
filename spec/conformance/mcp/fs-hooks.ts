/** A module hook that hands the suite, and nobody else, the shim in the place of `fs`. */

import type { ResolveHook } from 'node:module';

export const resolve: ResolveHook = (specifier, context, next) => {
  const isOfSuite = context.parentURL?.includes('/conformance/dist/index.js') ?? false;
  if (isOfSuite && /^(node:)?fs$/.test(specifier)) {
    return { url: new URL('./fs-shim.js', import.meta.url).href, shortCircuit: true };
  }
  return next(specifier, context);
};
