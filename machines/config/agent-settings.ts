/**
 * Reads the `agent` section: what runs the agent, within which bounds, and where its model and its search answer. Knows
 * no profile and starts nothing.
 * @see CON-3 and DIS-3 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import { type InterpolationScope, interpolate, unresolvedReference, variableIn } from './interpolate.ts';
import { runVariables, senderVariables } from './program-variables.ts';
import type { EntryFinding } from './server-entry.ts';
import type { AgentSettings, ModelPrices, ModelSettings, SearchSettings } from './settings.ts';

/** A finding that stops nothing is a warning. */
export interface AgentFinding extends EntryFinding {
  readonly severity: 'error' | 'warning';
}

/** Replaces the references of the section; those to the variables of a run stay as they are. */
export function interpolateAgent(written: JsonObject, scope: InterpolationScope): JsonObject {
  const { command, ...rest } = written;
  const resolved = interpolate(rest, scope) as JsonObject;
  if (command === undefined) return resolved;
  const hidden = new Map(runVariables.map((name) => [name as string, `\${${name}}`]));
  const secrets = new Map([...scope.secrets, ...hidden]);
  return { ...resolved, command: interpolate(command, { ...scope, secrets }) };
}

/** What keeps the section, interpolated, from doing what it says, and what in it is hardly meant. */
export function checkAgent(agent: JsonObject, scope: InterpolationScope): readonly AgentFinding[] {
  const findings: AgentFinding[] = [];
  const report = (path: readonly string[], message: string, code: EntryFinding['code']): void => {
    findings.push({ path: ['agent', ...path], message, code, severity: 'error' });
  };
  if (agent.runner === 'command' && agent.command === undefined) {
    report(
      ['runner'],
      'agent.runner is "command" but there is no agent.command; give the argument vector',
      'agent-command-missing',
    );
  }
  if (agent.runner === 'model' && agent.model === undefined) {
    report(
      ['runner'],
      'agent.runner is "model" but there is no agent.model; give provider, base_url and name',
      'agent-model-missing',
    );
  }
  for (const section of ['model', 'web_search']) {
    const held = agent[section];
    if (!isJsonObject(held)) continue;
    const { base_url, api_key } = held;
    if (typeof base_url === 'string' && !isEndpoint(base_url)) {
      report(
        [section, 'base_url'],
        `agent.${section}.base_url is no http or https address without a login; give one such as https://api.example.com/v1`,
        'agent-endpoint',
      );
    }
    const unset = typeof api_key === 'string' ? unresolvedReference(api_key) : undefined;
    if (unset !== undefined) {
      findings.push({
        path: ['agent', section, 'api_key'],
        message: `agent.${section}.api_key refers to "${unset}", which is not set; set ${unset} in .env or in the environment`,
        code: 'secret-unresolved',
        severity: 'warning',
      });
    }
  }
  return [...findings, ...doubtfulWords(agent), ...unsetNames(agent, scope)];
}

/** Words of the command that a sender chooses alone. */
function doubtfulWords({ command }: JsonObject): readonly AgentFinding[] {
  return (Array.isArray(command) ? command : []).flatMap((word, index) => {
    const name = /^\$\{(\w+)\}$/.exec(String(word))?.[1] ?? '';
    if (!senderVariables.has(name)) return [];
    const message = `agent.command has the word \${${name}}, which the sender of an event chooses; write it behind an option, such as --id=\${${name}}, or let the program read its variable ${name}`;
    return [{ path: ['agent', 'command', index], message, code: 'command-word-of-sender', severity: 'warning' }];
  });
}

function unsetNames({ env }: JsonObject, scope: InterpolationScope): readonly AgentFinding[] {
  return (Array.isArray(env) ? env : []).flatMap((name, index) => {
    if (variableIn(scope, String(name)) !== undefined) return [];
    const message = `agent.env names "${String(name)}", which is not set; set ${String(name)} in .env or in the environment, or drop it`;
    return [{ path: ['agent', 'env', index], message, code: 'variable-unset', severity: 'warning' }];
  });
}

export function readAgent(written: JsonObject): Omit<AgentSettings, 'env'> {
  const { model, web_search } = written;
  return {
    runner: (written.runner as AgentSettings['runner'] | undefined) ?? 'echo',
    command: (written.command as readonly string[] | undefined) ?? [],
    timeoutMs: numberOf(written.timeout_seconds, 600) * 1_000,
    concurrency: numberOf(written.concurrency, 4),
    onInterrupted: (written.on_interrupted as AgentSettings['onInterrupted'] | undefined) ?? 'rerun',
    ...(isJsonObject(model) ? { model: readModel(model) } : {}),
    ...(isJsonObject(web_search) ? { search: readSearch(web_search) } : {}),
  };
}

function readModel(written: JsonObject): ModelSettings {
  const { api_key, max_tokens, prices, other_prices: others } = written;
  return {
    provider: written.provider as ModelSettings['provider'],
    baseUrl: String(written.base_url),
    name: String(written.name),
    maxSteps: numberOf(written.max_steps, 20),
    ...(typeof api_key === 'string' ? { apiKey: api_key } : {}),
    ...(typeof max_tokens === 'number' ? { maxTokens: max_tokens } : {}),
    ...(isJsonObject(prices) ? { prices: readPrices(prices) } : {}),
    ...(isJsonObject(others) ? { otherPrices: readOtherPrices(others) } : {}),
  };
}

function readPrices(written: JsonObject): ModelPrices {
  return {
    inputPerMillion: numberOf(written.input_per_million, 0),
    outputPerMillion: numberOf(written.output_per_million, 0),
  };
}

function readOtherPrices(written: JsonObject): Readonly<Record<string, ModelPrices>> {
  return Object.fromEntries(
    Object.entries(written).flatMap(([name, prices]) => (isJsonObject(prices) ? [[name, readPrices(prices)]] : [])),
  );
}

function readSearch({ base_url, api_key }: JsonObject): SearchSettings {
  return { baseUrl: String(base_url), ...(typeof api_key === 'string' ? { apiKey: api_key } : {}) };
}

/** A login in an address would be shown wherever the address is. */
function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && hostname !== '' && username === '' && password === '';
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
