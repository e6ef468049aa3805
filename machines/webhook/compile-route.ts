/**
 * Turns a route into the functions that a request needs, once, so that no request pays for parsing a template, a filter
 * or a key. Knows no request.
 * @see RTE-1 in docs/specification.md
 */

import { noticePlace } from '../config/notice-place.ts';
import type { Route, RouteSecret, RouteWithSecret } from '../config/route.ts';
import { compileCoalesceKey } from './coalesce.ts';
import { eventMatcher } from './envelope.ts';
import { compileFilters, type FilterMatcher } from './filter.ts';
import { compileKeptHeaders } from './kept-headers.ts';
import { type SignatureVerifier, signatureVerifier } from './signature.ts';
import {
  type CompiledExtra,
  type CompiledTemplate,
  compileExtra,
  compilePrompt,
  type TemplateView,
} from './template.ts';

export interface CompiledRoute {
  readonly route: Route;
  readonly verify: SignatureVerifier;
  readonly acceptsEvent: (type: string) => boolean;
  readonly filters: FilterMatcher;
  /** Chooses what the journal keeps of a request's headers. */
  readonly keptHeaders: (headers: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  readonly prompt: CompiledTemplate;
  readonly extra: CompiledExtra;
  /** Absent where no run of its own can fail, or no notice is asked for. */
  readonly notice?: { readonly target: string; readonly extra: CompiledExtra };
  /** Renders the coalescing key; absent where the route does not coalesce. */
  readonly groupKey?: (view: TemplateView) => string | undefined;
  readonly insecure: boolean;
}

/** The filters were checked when the route was read; ones that fail all the same match nothing. */
const matchNothing: FilterMatcher = {
  lists: [],
  headers: [],
  match: () => ({ kind: 'unmatched', path: [], field: '', operator: '', operand: null, saw: undefined }),
};

export function compileRoute({ route, secret }: RouteWithSecret): CompiledRoute {
  const compiled = compileFilters(route.filters);
  const filters = compiled.ok ? compiled.value : matchNothing;
  // A direct delivery has no run, and a cron job has an `on_failure` of its own.
  const notice = route.deliverOnly || route.cronJob !== undefined ? undefined : noticePlace(route);
  return {
    route,
    verify: signatureVerifier(secret),
    acceptsEvent: eventMatcher(route.events),
    filters,
    keptHeaders: compileKeptHeaders(filters.headers),
    prompt: compilePrompt(route.prompt),
    extra: compileExtra(route.deliverExtra),
    ...(notice === undefined ? {} : { notice: { target: notice.target, extra: compileExtra(notice.extra) } }),
    ...(route.coalesce === undefined ? {} : { groupKey: compileCoalesceKey(route.coalesce.key) }),
    insecure: isInsecure(secret),
  };
}

function isInsecure(secret: RouteSecret): boolean {
  return secret.kind === 'insecure';
}
