/** A conversation with everything in it that an endpoint must be told: a picture, calls, one malformed, replies, a tool. */

import type { ModelQuestion } from '../../machines/agent/model-talk.ts';

export const question: ModelQuestion = {
  system: 'Be brief',
  turns: [
    { role: 'user', text: 'Go', picture: { mediaType: 'image/png', base64: 'AAAA' } },
    {
      role: 'assistant',
      text: ' ',
      calls: [
        { id: 'c1', name: 'look', argumentsText: '{"at":"x"}' },
        { id: 'c2', name: 'look', argumentsText: '{"at":' },
      ],
    },
    {
      role: 'tools',
      replies: [
        { id: 'c1', text: 'seen', isError: false },
        { id: 'c2', text: 'no JSON', isError: true },
      ],
    },
    { role: 'assistant', text: 'Done', calls: [] },
  ],
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
};
