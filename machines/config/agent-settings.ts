/**
 * Reads the `agent` section: what runs the agent, its limits, and the addresses of its model and search.
 * @see CON-3 and DIS-3 in docs/specification.md
 */

import { defined, isJsonObject, type JsonObject, objectAt, scalarText } from '../base/json.ts';
import { type Declared, declared } from './declared.ts';
import type { EntryFinding } from './diagnostic.ts';
import { type InterpolationScope, interpolate, refersToUnset, unresolvedReference, variableIn } from './interpolate.ts';
import { ownVariables, runVariables, senderVariables } from './program-variables.ts';
import { mapping, someSeconds, text } from './schema-parts.ts';
import type { AgentSettings, ModelPrices, ModelSettings, SearchSettings } from './settings.ts';
import { isPlainAddress } from './validate.ts';

const price = { type: 'number', minimum: 0 } as const;

const prices = {
  ...mapping,
  required: ['input_per_million', 'output_per_million'],
  properties: {
    input_per_million: { ...price, description: 'For a million tokens sent.' },
    output_per_million: { ...price, description: 'For a million tokens received.' },
    cached_per_million: {
      ...price,
      description:
        'For a million of the sent tokens that the endpoint has in its cache. Default: a tenth of `input_per_million` with the provider `anthropic`, else all of it.',
    },
    written_per_million: {
      ...price,
      description:
        'For a million of the sent tokens that the endpoint puts into its cache. Default: 1.25 times `input_per_million` with the provider `anthropic`, else the same.',
    },
  },
} as const;

export const agentSchema = {
  ...mapping,
  properties: {
    runner: { enum: ['model', 'command', 'echo'], default: 'echo', description: 'What runs the agent.' },
    command: { type: 'array', items: text, minItems: 1, description: 'Argument vector of the command runner.' },
    cwd: {
      ...text,
      pattern: '^[/~$]',
      description: 'Absolute path of the folder in which the command starts; the home of the profile without it.',
    },
    env: {
      type: 'array',
      items: {
        ...text,
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
        description: 'The name of a variable, such as GITHUB_TOKEN; neither its value nor a reference to it.',
      },
      description:
        'Variables of .env or the environment that the program has; those of .env to which nothing else refers without it.',
    },
    timeout_seconds: { ...someSeconds, default: 600, description: 'How long a run may take.' },
    concurrency: {
      type: 'integer',
      minimum: 0,
      default: 4,
      description: 'Runs at the same time. With 0 events are accepted and their runs wait.',
    },
    on_interrupted: {
      enum: ['rerun', 'report'],
      default: 'rerun',
      description: 'What to do with a run that a crash interrupted.',
    },
    model: {
      ...mapping,
      required: ['provider', 'base_url', 'name'],
      properties: {
        provider: { enum: ['openai-compatible', 'anthropic'], description: 'What the endpoint speaks.' },
        base_url: {
          ...text,
          description: 'Address of the endpoint, up to and without /chat/completions or /v1/messages.',
        },
        api_key: {
          ...text,
          description: 'Sent as a bearer token, as x-api-key to Anthropic, or as api-key to Azure OpenAI.',
        },
        name: { ...text, minLength: 1, description: 'Name of the model.' },
        max_steps: { type: 'integer', minimum: 1, default: 20, description: 'Requests to the model in one run.' },
        max_tokens: { type: 'integer', minimum: 1, description: 'Longest answer, in tokens.' },
        prices: { ...prices, description: 'What a million tokens cost; runs then show their cost.' },
        other_prices: {
          type: 'object',
          additionalProperties: prices,
          description: 'The same of other models of the endpoint, by name, for cron jobs that ask for one.',
        },
      },
      description: 'The endpoint of the model runner, of `agent chat` and of sampling.',
    },
    web_search: {
      ...mapping,
      properties: {
        provider: {
          enum: ['searxng', 'brave', 'tavily', 'exa'],
          default: 'searxng',
          description: 'What the endpoint speaks.',
        },
        base_url: {
          ...text,
          description:
            'Address of the endpoint, without /search. Required for SearXNG; else default: that of the provider.',
        },
        api_key: { ...text, description: 'The key. Required, but for SearXNG.' },
      },
      description: 'Where the tool web_search asks; without it the tool is not offered.',
    },
  },
  description: 'How agents run.',
} as const;

/** Resolves the references of the section; references to a run's variables are kept. */
export function interpolateAgent(written: JsonObject, scope: InterpolationScope): JsonObject {
  const { command, ...rest } = written;
  const resolved = interpolate(rest, scope) as JsonObject;
  if (command === undefined) return resolved;
  const hidden = new Map(runVariables.map((name) => [name as string, `\${${name}}`]));
  const secrets = new Map([...scope.secrets, ...hidden]);
  return { ...resolved, command: interpolate(command, { ...scope, secrets }) };
}

/** What keeps the interpolated section from being used. */
export function checkAgent(agent: JsonObject): readonly EntryFinding[] {
  const findings: EntryFinding[] = [];
  const report = (path: readonly string[], message: string, code: string): void => {
    findings.push({ path: ['agent', ...path], message: `agent.${message}`, code });
  };
  if (agent.runner === 'command' && agent.command === undefined) {
    const message = 'runner is "command" but there is no agent.command; give the argument vector';
    report(['runner'], message, 'agent-command-missing');
  }
  if (agent.runner === 'model' && agent.model === undefined) {
    const message = 'runner is "model" but there is no agent.model; give provider, base_url and name';
    report(['runner'], message, 'agent-model-missing');
  }
  for (const section of endpoints) {
    const { base_url } = objectAt(agent, section);
    if (typeof base_url !== 'string' || isPlainAddress(base_url)) continue;
    const unset = unresolvedReference(base_url);
    const why =
      unset === undefined
        ? `is no http or https address without a login; give one such as ${exampleOf[section]}`
        : refersToUnset(unset);
    report([section, 'base_url'], `${section}.base_url ${why}`, 'agent-endpoint');
  }
  if (isJsonObject(agent.web_search)) {
    const { provider = 'searxng', ...given } = agent.web_search;
    const name = scalarText(provider);
    const [key, cure] = Object.hasOwn(searchAddresses, name)
      ? ['api_key', `give one such as \${${name.toUpperCase()}_API_KEY}`]
      : ['base_url', `give one such as ${exampleOf.web_search}, or another provider`];
    // An unknown provider is a finding by itself.
    if (given[key] === undefined && (key === 'api_key' || provider === 'searxng'))
      report(['web_search'], `web_search has no ${key}; ${cure}`, 'agent-search-incomplete');
  }
  return findings;
}

const endpoints = ['model', 'web_search'] as const;
/** Of the hosted search services, without /search. */
const searchAddresses = {
  brave: 'https://api.search.brave.com/res/v1/web',
  tavily: 'https://api.tavily.com',
  exa: 'https://api.exa.ai',
} as const;
const exampleOf = { model: 'https://api.example.com/v1', web_search: 'http://127.0.0.1:8888' } as const;

/** What of the interpolated section is probably not meant. */
export function doubtsOfAgent(agent: JsonObject, scope: InterpolationScope): readonly EntryFinding[] {
  const unsetKeys = endpoints.flatMap((section): EntryFinding[] => {
    const { api_key } = objectAt(agent, section);
    const unset = typeof api_key === 'string' ? unresolvedReference(api_key) : undefined;
    if (unset === undefined) return [];
    const message = `agent.${section}.api_key ${refersToUnset(unset)}`;
    return [{ path: ['agent', section, 'api_key'], message, code: 'secret-unresolved' }];
  });
  return [...unsetKeys, ...doubtfulWords(agent), ...unsetNames(agent, scope)];
}

/**
 * Command words that consist only of a value the sender chooses, or of a variable that is not set. A reference within a
 * longer word may be one that the program itself resolves, as a shell does.
 */
function doubtfulWords({ command }: JsonObject): readonly EntryFinding[] {
  return (Array.isArray(command) ? command : []).flatMap((word, index) => {
    const name = /^\$\{(?:env:)?(\w+)\}$/.exec(scalarText(word))?.[1];
    if (name === undefined) return [];
    if (!senderVariables.has(name)) {
      // A workspace that is not set has a finding of its own.
      if (runVariables.some((one) => one === name) || name.startsWith('workspaceFolder')) return [];
      const message = ownVariables.has(name)
        ? `agent.command has the word \${${name}}, which is not replaced; let the program read its variable ${name}`
        : `agent.command ${refersToUnset(name)}`;
      return [{ path: ['agent', 'command', index], message, code: 'variable-unset' }];
    }
    const message = `agent.command has the word \${${name}}, which the sender of an event chooses; write it behind an option, such as --id=\${${name}}, or let the program read its variable ${name}`;
    return [{ path: ['agent', 'command', index], message, code: 'command-word-of-sender' }];
  });
}

function unsetNames({ env }: JsonObject, scope: InterpolationScope): readonly EntryFinding[] {
  return (Array.isArray(env) ? env : []).flatMap((name, index) => {
    if (typeof name !== 'string' || variableIn(scope, name) !== undefined) return [];
    const message = `agent.env names "${name}", which is not set; set ${name} in .env or in the environment, or drop it`;
    return [{ path: ['agent', 'env', index], message, code: 'variable-unset' }];
  });
}

export function readAgent(written: JsonObject): Omit<AgentSettings, 'env'> {
  const {
    runner,
    command = [],
    cwd,
    timeout_seconds,
    concurrency,
    on_interrupted,
    ...read
  } = declared(agentSchema, written);
  const { model, web_search: search } = read;
  return {
    runner,
    command,
    ...(cwd === undefined ? {} : { cwd }),
    timeoutMs: timeout_seconds * 1_000,
    concurrency,
    onInterrupted: on_interrupted,
    ...(model === undefined ? {} : { model: readModel(model) }),
    ...(search === undefined ? {} : { search: readSearch(search) }),
  };
}

function readSearch({ provider, base_url: own, api_key: apiKey }: NonNullable<Written['web_search']>): SearchSettings {
  // The missing address of a SearXNG is a finding.
  const baseUrl = own ?? (provider === 'searxng' ? '' : searchAddresses[provider]);
  return defined({ provider, baseUrl, apiKey });
}

type Written = Declared<typeof agentSchema>;
type WrittenPrices = Declared<typeof prices>;

function readModel(model: NonNullable<Written['model']>): ModelSettings {
  const { provider, name, prices, other_prices: others } = model;
  return defined({
    provider,
    baseUrl: model.base_url,
    name,
    maxSteps: model.max_steps,
    apiKey: model.api_key,
    maxTokens: model.max_tokens,
    prices: prices && readPrices(prices, provider),
    otherPrices:
      others && Object.fromEntries(Object.entries(others).map(([key, held]) => [key, readPrices(held, provider)])),
  });
}

function readPrices(prices: WrittenPrices, provider: ModelSettings['provider']): ModelPrices {
  const { input_per_million: input, output_per_million: output } = prices;
  const isAnthropic = provider === 'anthropic';
  return {
    inputPerMillion: input,
    cachedPerMillion: prices.cached_per_million ?? (isAnthropic ? input / 10 : input),
    writtenPerMillion: prices.written_per_million ?? (isAnthropic ? input * 1.25 : input),
    outputPerMillion: output,
  };
}
