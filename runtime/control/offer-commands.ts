/**
 * The commands for what servers offer beside their tools: instructions, resources and prompts, limited to the toolsets of
 * the caller like its calls. Part of the table of the control socket.
 * @see CLI-3 and CLI-5 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { CallAnswer } from '../mcp/calls.ts';
import type { OfferCaller, Offers } from '../mcp/offers.ts';
import { type Command, type Commands, textOf } from './command.ts';
import type { Offered } from './contract.ts';
import { allowedBy, callerOf, mcpOf, ofServers, profileIn, whileAsked } from './mcp-commands.ts';

export const offerCommands = {
  'mcp.instructions': ofServers((mcp, params) => {
    const instructions = mcp.instructions(profileIn(mcp, params), allowedBy(params));
    return instructions === undefined ? {} : { instructions };
  }),

  'mcp.resources': ofOffers((offers, _, caller) => offers.resources(caller)),
  'mcp.resourceTemplates': ofOffers((offers, _, caller) => offers.resourceTemplates(caller)),
  'mcp.prompts': ofOffers((offers, _, caller) => offers.prompts(caller)),
  'mcp.readResource': ofOffers(async (offers, params, caller) =>
    answerOf(await offers.readResource(textOf(params, 'uri'), caller)),
  ),

  'mcp.getPrompt': ofOffers(async (offers, params, caller) => {
    const args = isJsonObject(params.arguments) ? params.arguments : {};
    return answerOf(await offers.getPrompt(textOf(params, 'name'), args, caller));
  }),
} satisfies Partial<Commands>;

function ofOffers<Answer>(
  run: (offers: Offers, params: JsonObject, caller: OfferCaller) => Promise<Answer>,
): Command<Answer> {
  return async (host, params, peer) => {
    const mcp = mcpOf(host);
    const profile = profileIn(mcp, params);
    return whileAsked(peer, (signal) =>
      run(mcp.offers, params, {
        profile,
        allows: allowedBy(params),
        ...callerOf(params, peer),
        signal,
      }),
    );
  };
}

function answerOf(answer: CallAnswer): Offered {
  return answer.kind === 'result' ? answer.result.structuredContent : { error: answer.fault };
}
