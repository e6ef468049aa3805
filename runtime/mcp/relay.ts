/**
 * Answers the questions of other gateways about a server that this one has connected for all of them. The rules of this
 * gateway apply too: only a registered tool is called, one at a time if the server requires it, and the call keeps the
 * connection awake. The gateway of the caller requests approval.
 * @see SCA-1, FLT-1, LIF-11 and TRU-1 in docs/specification.md
 */

import type { CallOutcome } from '../../actors/mcp/call-outcome.ts';
import type { CallQueues } from '../../actors/mcp/call-queues.ts';
import type { RelayedListing, RelayQuestion } from '../../actors/mcp/remote-session.ts';
import type { Settle } from '../../actors/mcp/session.ts';
import type { Logger } from '../../actors/ports.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { isOfferList, type OfferMethod } from '../../machines/mcp/offers.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { needsApproval } from '../../machines/mcp/trust.ts';
import type { Relay } from './placement.ts';
import type { RegisteredTool, Registry } from './registry.ts';
import { callBySession, type SessionCall, type SessionCallPorts } from './session-calls.ts';
import { connectionKey } from './sessions.ts';

interface RelayPorts extends SessionCallPorts {
  readonly registry: (profile: string) => Pick<Registry, 'listing' | 'all'> | undefined;
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly queues: Pick<CallQueues, 'run'>;
  readonly log: Logger;
}

type Call = Extract<RelayQuestion, { readonly of: 'call' | 'utility' | 'offer' }>;

export function createRelay(ports: RelayPorts): Relay {
  const { sessions, log } = ports;
  const cancels = new Map<string, () => void>();
  const stamps = new WeakMap<object, string>();
  let listings = 0;

  const stampOf = (listing: object): string =>
    getOrMake(stamps, listing, () => {
      listings += 1;
      return String(listings);
    });

  /** Resolves with the outcome of the call; `cancelled` if it is cancelled before it ends. */
  function called(key: string, settings: ServerSettings, question: Call): Promise<CallOutcome> {
    const parallel = settings.parallel || (question.of === 'offer' && isOfferList(question.name as OfferMethod));
    return new Promise((resolve) => {
      const { of, name, args, traceparent } = question;
      const call: SessionCall = { of, name, args, options: { traceparent }, reading: () => null };
      const work = (settle: Settle): (() => void) => callBySession(key, call, ports, settle);
      const settle = (outcome: CallOutcome): void => {
        cancels.delete(question.call);
        resolve(outcome);
      };
      let isOver = false;
      const cancel = ports.queues.run({ server: key, parallel }, work, (outcome: CallOutcome) => {
        isOver = true;
        settle(outcome);
      });
      if (!isOver)
        cancels.set(question.call, () => {
          cancel();
          settle({ kind: 'cancelled' });
        });
    });
  }

  return async (profile, server, question) => {
    const key = connectionKey(profile, server);
    const session = sessions.get(key);
    const registry = ports.registry(profile);
    const listing = registry?.listing(server);
    const settings = ports.settings(profile, server);
    if (question.of === 'cancel') {
      cancels.get(question.call)?.();
      return true;
    }
    if (session === undefined || listing === undefined || settings === undefined) {
      return question.of === 'list' && settings !== undefined ? 'connecting' : null;
    }
    switch (question.of) {
      case 'list': {
        const answer: RelayedListing = { era: session.era, listing, stamp: stampOf(listing) };
        return answer;
      }
      case 'stamp':
        return stampOf(listing);
      default: {
        const tool = registry?.all().find((one) => one.server === server && isMeant(one, question));
        const why = refusalOf(question, settings, tool);
        log.log(
          why === undefined ? 'debug' : 'warn',
          `mcp server "${server}": a call of another gateway${why ? `: ${why}` : ''}`,
          {
            server,
            profile,
            tool: question.name,
          },
        );
        return why === undefined ? called(key, settings, question) : { kind: 'refused', message: why };
      }
    }
  };
}

function isMeant(tool: RegisteredTool, { of, name }: Call): boolean {
  return tool.tool === name && (tool.kind === 'utility') === (of === 'utility');
}

/** Why a call is refused here; undefined if it is not. Requests for resources and prompts have no tool of their own. */
function refusalOf(
  { of, name, trust }: Call,
  settings: ServerSettings,
  tool: RegisteredTool | undefined,
): string | undefined {
  if (of === 'offer') return undefined;
  if (tool === undefined) return `the gateway that has the server registers no tool "${name}"; compare its config.yaml`;
  const { annotations } = tool.definition as { readonly annotations?: { readonly readOnlyHint?: unknown } };
  return trust === 'full' && needsApproval(settings.trust, annotations)
    ? `the gateway that has the server trusts it less (trust: ${settings.trust}); give the entries of both the same trust`
    : undefined;
}
