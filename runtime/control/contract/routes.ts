/** Routes: their state, and what a person enters at the provider. */

import type { Hold } from '../../../machines/config/hints.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { InProfile } from './choices.ts';

export interface RouteChoice extends InProfile {
  readonly name: string;
}

/** What a person needs to set up a route at its provider (SUB-1). */
export interface ProviderWords {
  readonly title: string;
  /** The provider's documentation of its signature. */
  readonly page: string;
  /** A description of the secret. */
  readonly secret: string;
  /** Whether the owner enters the secret there; otherwise the provider generates it. */
  readonly typed: boolean;
  /** The provider sends the secret in its handshake. */
  readonly sent?: true | 'silently';
  /** What to enter there: a command, or the fields of a page. */
  readonly setup?: string;
  /** A recorded event to try the route with. */
  readonly sample?: string;
}

/** A route; or an invalid route, file or line of a file, without source, profile and state. */
export interface RouteRow {
  readonly name: string;
  readonly url: string;
  /** Empty accepts all event types. */
  readonly events: readonly string[];
  readonly deliver: string;
  readonly description: string;
  readonly source?: Route['source'];
  readonly profile?: string;
  readonly enabled?: boolean;
  readonly problem?: string;
  /** What holds its runs: `held: true` of the route, or a limit of 0. */
  readonly held?: Hold;
  /** The state of the route; absent without a daemon. */
  readonly mark?: RouteMark;
  readonly last_event_at?: string;
  /** Events of the last hour. */
  readonly last_hour?: number;
  readonly last_24h?: {
    readonly total: number;
    readonly failed: number;
    /** If the reading of a long history has not ended: since when events are counted. The next request continues it. */
    readonly counted_from?: string;
  };
}

/** `failing`: half of the last ten minutes, or the last five; `held`: no run begins; `quiet`: no event in 24 hours. */
export type RouteMark = 'healthy' | 'retrying' | 'failing' | 'held' | 'disabled' | 'quiet';

export interface RouteEnabled {
  readonly name: string;
  readonly profile: string;
  readonly enabled: boolean;
}

/** A route after it was held or released. */
export interface RouteHeld {
  readonly name: string;
  readonly profile: string;
  /** Whether `held` of the route is true now. */
  readonly held: boolean;
  /** It was so before. */
  readonly unchanged?: true;
  /** The route is disabled too, so its senders get 403. */
  readonly disabled?: true;
  /** After a release: the limit of 0 that still holds its runs, and where it is written. */
  readonly held_by?: string;
  /** How many of its runs wait, or waited before a release; absent where the journal cannot be read. */
  readonly waiting?: number;
  /** Why the change is not in force. */
  readonly not_in_force?: string;
}

export interface RouteDetail extends RouteRow {
  readonly definition: Route;
  readonly place?: { readonly file: string; readonly line?: number };
  /** Whether requests are verified, and where the secret comes from. */
  readonly secret?: {
    readonly set: boolean;
    readonly from?: string;
    /** How many earlier secrets verify too. */
    readonly older?: number;
  };
  /** Such as "GitHub". */
  readonly source_words?: string;
  /** The conditions in words. */
  readonly filter_words?: readonly string[];
  readonly limits?: readonly string[];
}
