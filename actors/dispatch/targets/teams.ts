/**
 * Posts to a channel or chat of Microsoft Teams through a workflow URL, as an adaptive card. A text run in a card is not
 * Markdown, mentions users only through an entity, and evaluates no functions such as `{{DATE(…)}}` once their braces are
 * defused. A workflow answers before it posts, so the outcome of the workflow is unknown.
 * @see [Create an incoming webhook](https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook)
 * @see [RichTextBlock](https://adaptivecards.io/explorer/RichTextBlock.html)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import { withoutTags, withoutTemplates } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';
import { codes } from './platform-target.ts';

export const teams: Description = {
  name: 'teams',
  needs: ['url'],
  // The limit is 28 KB per message, with the card around the text.
  limit: { max: 27_000, unit: 'jsonBytes' },
  maxPieces: 10,
  inert: (text) => withoutTags(withoutTemplates(text), 'at\\b'),
  places: { only: 'the chat or channel of the workflow' },
  call: ({ text }) => ({
    path: '',
    json: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            version: '1.4',
            body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] }],
          },
        },
      ],
    },
  }),
  accepted: ({ status }) => (status === 202 ? true : undefined),
  verify: { unverifiable: 'the address of a workflow shows with the first message whether it is good' },
  code: ({ error }) => (isJsonObject(error) ? error.code : undefined),
  meanings: {
    ...codes('auth', 'DirectApiAuthorizationRequired', 'AuthorizationFailed'),
    WorkflowNotFound: 'notFound',
    WorkflowTriggerIsNotEnabled: { refusal: 'forbidden', because: 'the workflow is switched off' },
    RequestEntityTooLarge: 'tooLong',
  },
};
