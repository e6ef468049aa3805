/**
 * Answers one request from the table of commands, for the control socket and the page's listener. Refusals carry their
 * stable code, and all text is redacted.
 * @see CLI-3 in docs/specification.md
 */

import { unwritableFault } from '../../actors/files.ts';
import { causeOf, type Fault } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import type { Asker } from '../observe/audit.ts';
import type { CommandHost, CommandPeer } from './command.ts';
import { commands } from './commands.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import { formatError, formatResult, type RpcRequest, rpcCodes } from './protocol.ts';

const noOtherNode = 'gateway.journal is not postgres, so this gateway has no others; leave --node out';

/**
 * Resolves with a function that serializes the answer and does not throw; notifications go to the peer meanwhile. Changes
 * by `asker` are written to the audit log.
 */
export async function answerRequest(
  { id, method, params }: RpcRequest,
  host: CommandHost,
  peer: CommandPeer & { readonly redact: (text: string) => string; readonly asker?: Asker | undefined },
): Promise<() => string> {
  const { commandOf = (name) => commands.get(name) } = host;
  const command = commandOf(method);
  if (command === undefined) return () => formatError(id, { code: rpcCodes.method, message: `no method "${method}"` });
  const failed = (thrown: unknown): string => {
    const refused = thrown instanceof Refusal ? thrown : undefined;
    const code = refused?.code === 'params-missing' ? rpcCodes.params : rpcCodes.refused;
    const { field } = refused ?? {};
    const unwritable = unwritableFault(thrown, host.source.home);
    const known = refused ?? (thrown as { readonly fault?: Fault } | undefined)?.fault ?? unwritable;
    const data = known === undefined ? {} : { data: { code: known.code, ...(field === undefined ? {} : { field }) } };
    return formatError(id, { code, message: peer.redact(unwritable?.message ?? causeOf(thrown)), ...data });
  };
  try {
    const { node: _, ...own } = params;
    const run = async (): Promise<Json> => ((await command(host, own, peer)) ?? null) as Json;
    if (host.nodes === undefined && params.node !== undefined) refuse('node-unknown', noOtherNode);
    const result =
      host.nodes === undefined ? await run() : await host.nodes.routed({ method, params }, peer.asker, run);
    if (peer.asker !== undefined) host.audit?.add(peer.asker, { method, params });
    return () => {
      try {
        return formatResult(id, result);
      } catch (thrown) {
        return failed(thrown);
      }
    };
  } catch (thrown) {
    if (peer.asker !== undefined) host.audit?.add(peer.asker, { method, params }, thrown);
    return () => failed(thrown);
  }
}
