/**
 * What a kind of model endpoint is to the rest: how it writes a conversation, and how its answer is read.
 * @see DIS-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { ModelSettings } from '../config/settings.ts';
import type { Draft } from './model-draft.ts';
import type { Question } from './model-talk.ts';

/** What of the settings a request's body says. */
export type Asked = Pick<ModelSettings, 'name' | 'maxTokens'> & Partial<Pick<ModelSettings, 'baseUrl'>>;

/** How one kind of endpoint writes a conversation. */
export interface Endpoint {
  /** The body of a request for a streamed answer. */
  readonly bodyOf: (asked: Asked, question: Question) => JsonObject;
  /**
   * Adds one event of a stream to the draft. Unknown events are passed over: endpoints add events.
   * @returns the text that it added
   */
  readonly readEvent: (draft: Draft, event: JsonObject) => string;
  /** Adds the answer of an endpoint that does not stream although it was asked to. */
  readonly readWhole: (draft: Draft, body: JsonObject) => string;
}
