/**
 * The interface of a kind of model endpoint: how it formats a conversation, and how its answer is read.
 * @see DIS-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { ModelSettings } from '../config/settings.ts';
import type { Draft } from './model-draft.ts';
import type { Question } from './model-talk.ts';

/** The settings that a request's body needs. */
export type Asked = Pick<ModelSettings, 'name' | 'maxTokens'> & Partial<Pick<ModelSettings, 'baseUrl'>>;

/** How one kind of endpoint formats a conversation. */
export interface Endpoint {
  /** The body of a request for a streamed answer. */
  readonly bodyOf: (asked: Asked, question: Question) => JsonObject;
  /**
   * Adds one stream event to the draft. Ignores unknown events, because endpoints add new ones.
   * @returns the text that it added
   */
  readonly readEvent: (draft: Draft, event: JsonObject) => string;
  /** Adds the complete answer of an endpoint that does not stream although it was asked to. */
  readonly readWhole: (draft: Draft, body: JsonObject) => string;
}
