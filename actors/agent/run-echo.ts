/** The runner until one is configured: the prompt is the response. Lets a new user see a run without any agent. */

import type { AgentRunner } from '../ports.ts';

const respond = (prompt: string): string => prompt;

export const echoRunner: AgentRunner = Object.assign<AgentRunner, Pick<AgentRunner, 'respond'>>(
  ({ prompt }) => Promise.resolve({ kind: 'responded', response: respond(prompt) }),
  { respond },
);
