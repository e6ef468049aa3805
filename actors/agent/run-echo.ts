/** The runner until one is configured: the prompt is the response. Lets a new user see a run without any agent. */

import type { AgentRunner } from '../ports.ts';

export const echoRunner: AgentRunner = ({ prompt }) => Promise.resolve({ kind: 'responded', response: prompt });
