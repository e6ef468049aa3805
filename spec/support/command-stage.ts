/** The context of one command that asks no gateway: every method has the same answer. */

import type { CommandContext } from '../../cli/context.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';

interface Stage {
  readonly answer?: Json;
  readonly args?: readonly string[];
  readonly flags?: CommandContext['flags'];
  readonly isTerminal?: boolean;
}

/** Returns the context, and what its command has asked and said so far. */
export function stageCommand({ answer = [], args = [], flags = {}, isTerminal = false }: Stage) {
  const seen = { asked: [] as JsonObject[], printed: '', complained: '' };
  const context: CommandContext = {
    args,
    flags,
    home: '/home/me/.agent',
    gateway: { home: '/home/me/.agent', socket: '/home/me/.agent/gateway.sock' },
    env: {},
    out: {
      isTerminal,
      coloured: false,
      columns: 120,
      print: (text) => {
        seen.printed += text;
      },
      complain: (text) => {
        seen.complained += text;
      },
    },
    // The answers of a spec are of any method.
    ask: (method: string, params: object = {}) => {
      seen.asked.push({ method, ...params });
      return Promise.resolve(answer as never);
    },
  };
  return { context, seen };
}
