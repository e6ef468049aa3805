/**
 * Provides tools to the runs of one profile: those in the route's toolsets, from the registered tools of servers and the
 * built-in ones. A call of a server's tool is a call like any other, so trust, filters and supervision apply.
 * @see DIS-3, DIS-5, TRU-3 and PRF-2 in docs/specification.md
 */

import { createBuiltInTools } from '../../actors/agent/built-in-tools.ts';
import type { AskPerson } from '../../actors/agent/clarify.ts';
import type { FetchPublic } from '../../actors/agent/fetch-public.ts';
import type { RunTools, ToolAnswer } from '../../actors/agent/model-loop.ts';
import { streamModel, waitFor } from '../../actors/agent/stream-model.ts';
import type { Logger } from '../../actors/ports.ts';
import type { ModelQuestion, ToolOffer } from '../../machines/agent/model-talk.ts';
import { offeredSchema, ownArguments } from '../../machines/agent/offered-schema.ts';
import { toolText } from '../../machines/agent/tool-text.ts';
import { allServers, toolFilter, webhookToolset } from '../../machines/agent/toolset.ts';
import { defined } from '../../machines/base/json.ts';
import type { ModelSettings, SearchSettings } from '../../machines/config/settings.ts';
import type { Approvals } from '../mcp/approvals.ts';
import type { CallAnswer, Calls } from '../mcp/calls.ts';
import type { RegisteredTool, Registry } from '../mcp/registry.ts';

export interface LendToolsPorts {
  readonly registry: () => Pick<Registry, 'all'> | undefined;
  readonly calls: Pick<Calls, 'start'>;
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly search?: SearchSettings;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
  /** Fetches public pages through the guard; the real one unless given. */
  readonly fetchPublic?: FetchPublic;
}

/** The run or chat that uses tools. */
interface Borrower {
  readonly profile: string;
  readonly toolsets: readonly string[];
  /** Its name in a question to a person, such as `a run of route "deploys"`. */
  readonly who: string;
  /** The model that looks at its pictures. */
  readonly model: ModelSettings;
  readonly caller: 'run' | 'chat';
  /** The key of the run, if it is one. */
  readonly run?: string;
  /** The trace of its calls. */
  readonly traceparent?: string;
}

type LendTools = (borrower: Borrower) => RunTools;

/** The server name in a question of the agent. */
const asker = 'agent';
const builtInNames: ReadonlySet<string> = new Set(webhookToolset);

export function createLendTools(ports: LendToolsPorts): LendTools {
  const { search, fetchPublic, calls, log } = ports;

  return (borrower) => {
    const { profile, who, caller, toolsets, run, traceparent, model } = borrower;
    const ofRun = { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
    const builtIn = createBuiltInTools({
      askModel: (question: ModelQuestion, signal: AbortSignal) =>
        streamModel(model, question, { nowMs: ports.nowMs, random: ports.random, wait: waitFor, signal }),
      askPerson: askPersonFor(borrower, ports.approvals),
      ...defined({ search, fetchPublic }),
    });
    const lent = toolsets.flatMap((name) => builtIn.get(name) ?? []);
    const registered = ports.registry()?.all() ?? [];
    const allows = toolFilter(toolsets);
    const supervised = registered.filter(allows);
    for (const name of toolsets) warnWhereEmpty(name);

    const own = new Map(lent.map((tool) => [tool.offer.name, tool]));
    const theirs = new Map(supervised.map(({ name, definition }) => [name, definition]));
    return {
      offers: [...lent.map(({ offer }) => offer), ...supervised.map(offerOf)],
      async call(name, args, signal, said) {
        const tool = own.get(name);
        if (tool !== undefined) return tool.call(args, signal);
        const definition = theirs.get(name);
        if (definition === undefined) return { text: `no tool is named "${name}"`, isError: true };
        const asked = { profile, name, args: ownArguments(args, definition.inputSchema), caller, allows };
        return answerOf(await calls.start({ ...asked, ...ofRun, ...(said ? { said } : {}), signal }));
      },
    };

    function warnWhereEmpty(name: string): void {
      if (builtInNames.has(name)) {
        if (builtIn.has(name)) return;
        const why = 'there is no search endpoint; set agent.web_search';
        log.warnOnce(`tools/${profile}/${name}`, `profile "${profile}": ${name} is not offered: ${why}`);
      } else if (name !== allServers && !registered.some(toolFilter([name]))) {
        const text = `${who}: toolset "${name}" names no tool; \`agent mcp tools\` lists them`;
        log.warnOnce(`tools/${profile}/${who}/${name}`, text);
      }
    }
  };
}

function offerOf({ name, definition }: RegisteredTool): ToolOffer {
  const { description, inputSchema } = definition;
  return {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: offeredSchema(inputSchema),
  };
}

/** The model gets the fault as text: it may try another way, or explain why it could not. */
function answerOf(answer: CallAnswer): ToolAnswer {
  if (answer.kind === 'fault') return { text: `${answer.fault.message} [${answer.fault.code}]`, isError: true };
  return { text: toolText(answer.result), isError: answer.result.isError };
}

function askPersonFor({ profile, who, run, caller }: Borrower, approvals: LendToolsPorts['approvals']): AskPerson {
  return ({ message, form, timeoutMs }, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve({ kind: 'denied' });
        return;
      }
      const stop = (): void => {
        approvals.withdraw(id);
        resolve({ kind: 'denied' });
      };
      const id = approvals.ask(
        {
          profile,
          server: asker,
          ...(run === undefined ? { caller } : { run }),
          kind: 'form',
          tool: 'clarify',
          message: `${who} asks: ${message}`,
          detail: form,
          timeoutMs,
        },
        ({ verdict, values, note }) => {
          signal.removeEventListener('abort', stop);
          if (verdict === 'approved') resolve({ kind: 'approved', values });
          else resolve(verdict === 'denied' && note !== undefined ? { kind: verdict, note } : { kind: verdict });
        },
      );
      signal.addEventListener('abort', stop, { once: true });
    });
}
