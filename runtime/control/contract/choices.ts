/** What several methods select by: a profile, an id, an event, a page of the history. */

export interface InProfile {
  /** Absent: the default profile or, in a list, all profiles. */
  readonly profile?: string;
}

export interface ById {
  readonly id: string;
}

/** Selects among events with the same id, since a sender's id is unique only per route. */
export interface EventChoice {
  readonly route?: string;
  readonly profile?: string;
}

export interface HistoryQuery extends EventChoice {
  readonly limit: number;
  readonly status?: string;
  /** Only rows before this key, for the next page. */
  readonly before?: string;
  /** Only rows of events received since this time. */
  readonly since?: string;
}
