/** The default runner: the response is the prompt. Shows a new user a run before an agent is configured. */

import type { AgentRunner } from '../ports.ts';

const respond = (prompt: string): string => prompt;

export const echoRunner: AgentRunner = Object.assign<AgentRunner, Pick<AgentRunner, 'respond'>>(
  ({ prompt }) => Promise.resolve({ kind: 'responded', response: respond(prompt) }),
  { respond },
);
