/**
 * The setup's questions, each with the current value as its default. Writes nothing: a summary of the answers is shown and
 * confirmed at the end.
 * @see CLI-1 in docs/specification.md
 */

import { bindingFault, freePortAbove, whyUnbound } from '../../actors/binding.ts';
import { defined, isJsonObject, type Json, scalarText } from '../../machines/base/json.ts';
import { dynamicRoutePattern } from '../../machines/base/names.ts';
import { inspectorSchema } from '../../machines/config/schema.ts';
import { listenerKeys } from '../../machines/config/webhook-settings.ts';
import type { Prompts } from '../prompts.ts';
import {
  type Answers,
  badName,
  type ModelAnswers,
  providers,
  type RouteAnswer,
  type Runner,
  secretOf,
  whyWeak,
  wordsOf,
} from './answers.ts';
import { defaultToolsets, hasOwnSecret, routesIn, type Standing, webhookValue } from './edits.ts';

interface Asked {
  readonly standing: Standing;
  readonly variables: ReadonlySet<string>;
  /** The variable of the port, which counts where config.yaml has none. */
  readonly port: string | undefined;
  /** Whether the gateway of this home runs and therefore holds its ports itself. */
  readonly isRunning: boolean;
  /** Whether a global secret is set anywhere. */
  readonly hasSecret: boolean;
}

/** Faults that no other port of the host would avoid. */
const unboundForAll: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND']);

const defaultUrls: Readonly<Record<string, string>> = {
  anthropic: 'https://api.anthropic.com',
  'openai-compatible': 'http://127.0.0.1:11434/v1',
};

/** The confirmed answers; undefined if the person declines the summary. */
export async function askAll(prompts: Prompts, asked: Asked): Promise<Answers | undefined> {
  const { standing } = asked;
  const enabled = await prompts.confirm('Receive webhooks?', standing('platforms', 'webhook', 'enabled') !== false);
  const webhook = enabled ? await askWebhook(prompts, asked) : {};
  const page = await askPage(prompts, asked);
  const agent = await askAgent(prompts, standing);
  const answers: Answers = { enabled, ...webhook, ...page, ...agent };
  prompts.note(summary(answers), 'This will be written');
  return (await prompts.confirm('Write it?', true)) ? answers : undefined;
}

async function askWebhook(prompts: Prompts, asked: Asked): Promise<Answers> {
  const { standing, hasSecret } = asked;
  const host = await askHost(prompts, textOf(webhookValue(standing, 'host')));
  const ofVariable = portProblem(asked.port ?? '') === undefined ? asked.port : undefined;
  const inForce = Number(webhookValue(standing, 'port') ?? ofVariable ?? listenerKeys.port.default);
  const port = await askPort(prompts, 'Port', { host, port: inForce }, asked);
  // Each route gets its own secret; a new global one is not created.
  const secret = hasSecret ? await askSecret(prompts, 'Secret of routes without one of their own', true) : undefined;
  const route = await askRoute(prompts, asked);
  return { host, port, ...defined({ secret, routes: route && [route] }) };
}

/** Undefined if the existing secret is kept. */
async function askSecret(
  prompts: Prompts,
  question: string,
  isSet: boolean,
  route?: string,
): Promise<string | undefined> {
  const how = await prompts.select(
    question,
    [
      ...(isSet ? [{ value: 'keep', label: 'Keep the one that is set' }] : []),
      { value: 'generate', label: 'Generate one', hint: '32 random bytes, into .env' },
      { value: 'own', label: 'Type one', hint: 'where the sender fixes it' },
    ],
    isSet ? 'keep' : 'generate',
  );
  if (how === 'keep') return undefined;
  return how === 'generate' ? secretOf(how) : prompts.secret('Secret', (text) => secretProblem(text, route));
}

/** A route with its own secret and only the chosen servers' tools. */
async function askRoute(prompts: Prompts, { standing, variables }: Asked): Promise<RouteAnswer | undefined> {
  const routes = routesIn(standing);
  const name = await prompts.text('Name of a route, such as github (empty: none)', '', (text) =>
    text === '' || dynamicRoutePattern.test(text) ? undefined : `It ${badName}`,
  );
  if (name === '') return undefined;
  const written = routes[name];
  const { toolsets = defaultToolsets } = isJsonObject(written) ? written : {};
  const secret = await askSecret(prompts, 'Secret by which its sender signs', hasOwnSecret(written, variables), name);
  return { name, ...defined({ secret, toolsets: await askToolsets(prompts, standing, toolsets) }) };
}

async function askToolsets(prompts: Prompts, standing: Standing, held: Json): Promise<readonly string[] | undefined> {
  const configured = standing('mcp_servers');
  const servers = isJsonObject(configured) ? Object.keys(configured) : [];
  if (servers.length === 0) return undefined;
  const toolsets = Array.isArray(held) ? held.map(String) : [];
  const isOf = (server: string) => (toolset: string) => toolset === server || toolset === `mcp-${server}`;
  const chosen = await prompts.several(
    'Servers whose tools its runs may use',
    servers.map((server) => ({ value: server, label: server })),
    servers.filter((server) => toolsets.some(isOf(server))),
  );
  const others = toolsets.filter((toolset) => !servers.some((server) => isOf(server)(toolset)));
  return [...others, ...chosen.map((server) => `mcp-${server}`)];
}

/** Repeats the question until the port is free; a taken port is asked again with the next free one as the default. */
async function askPort(
  prompts: Prompts,
  question: string,
  { host, port }: { readonly host: string; readonly port: number },
  asked: Asked,
): Promise<number> {
  for (let initial = port; ; ) {
    const chosen = Number(await prompts.text(question, String(initial), portProblem));
    const fault = asked.isRunning || chosen === 0 ? undefined : await bindingFault(host, chosen);
    if (fault === undefined) return chosen;
    initial = await freePortAbove(host, chosen);
    prompts.step(`${addressOf(host, chosen)} cannot be had: ${whyUnbound(fault)}.`);
    if (unboundForAll.has(fault)) return chosen;
  }
}

/** The page has a default port; asks only if it is taken. */
async function askPage(prompts: Prompts, asked: Asked): Promise<Answers> {
  const { standing, isRunning } = asked;
  const { properties: page } = inspectorSchema;
  const host = textOf(standing('inspector', 'host')) ?? page.host.default;
  const port = Number(standing('inspector', 'port') ?? page.port.default);
  if (isRunning || port === 0 || standing('inspector', 'enabled') === false) return {};
  const fault = await bindingFault(host, port);
  if (fault === undefined) return {};
  prompts.step(`The inspector page's ${addressOf(host, port)} cannot be had: ${whyUnbound(fault)}.`);
  const inspectorPort = await askPort(
    prompts,
    'Port of the inspector page',
    { host, port: await freePortAbove(host, port) },
    asked,
  );
  return { inspectorPort };
}

async function askHost(prompts: Prompts, standing: string | undefined): Promise<string> {
  const choices = [
    { value: '127.0.0.1', label: 'This machine only', hint: 'behind a proxy or a tunnel that ends TLS' },
    { value: '0.0.0.0', label: 'Every interface', hint: 'plain HTTP, open to the network' },
    { value: '', label: 'Another address' },
  ];
  const isOther = standing !== undefined && !choices.some(({ value }) => value === standing);
  const chosen = await prompts.select('Who may reach it?', choices, isOther ? '' : (standing ?? '127.0.0.1'));
  return chosen === '' ? prompts.text('Address', isOther ? standing : '', notEmpty) : chosen;
}

async function askAgent(prompts: Prompts, standing: Standing): Promise<Answers> {
  const now = (textOf(standing('agent', 'runner')) ?? 'echo') as Runner;
  const runner = await prompts.select<Runner>(
    'What runs the agent?',
    [
      { value: 'echo', label: 'Nothing yet', hint: 'answers with the prompt, to try the rest out' },
      { value: 'command', label: 'A program', hint: 'prompt on its standard input, answer on its output' },
      { value: 'model', label: 'A model', hint: 'with the tools of the MCP servers' },
    ],
    now,
  );
  switch (runner) {
    case 'echo':
      return { runner };
    case 'command': {
      const words = standing('agent', 'command');
      const shown = Array.isArray(words) ? words.map((word) => typedWord(scalarText(word))).join(' ') : '';
      const text = await prompts.text('Its command', shown, (given) =>
        wordsOf(given).length === 0 ? 'A program, and every quote its end' : undefined,
      );
      return { runner, command: wordsOf(text) };
    }
    case 'model':
      return { runner, model: await askModel(prompts, standing) };
  }
}

async function askModel(prompts: Prompts, standing: Standing): Promise<ModelAnswers> {
  const at = (key: string): string | undefined => textOf(standing('agent', 'model', key));
  const provider = await prompts.select(
    'Which interface has the model?',
    providers.map((value) => ({ value, label: value === 'anthropic' ? 'Anthropic' : 'OpenAI-compatible' })),
    (at('provider') ?? 'anthropic') as (typeof providers)[number],
  );
  // Another provider has another address, and other models.
  const known = (key: string): string | undefined => (provider === at('provider') ? at(key) : undefined);
  const baseUrl = await prompts.text('Base URL', known('base_url') ?? defaultUrls[provider] ?? '', urlProblem);
  const name = await prompts.text('Name of the model', known('name') ?? '', notEmpty);
  const key = await prompts.secret(`API key (empty: ${at('api_key') === undefined ? 'none' : 'keep it'})`);
  return defined({ provider, baseUrl, name, key: key === '' ? undefined : key });
}

/** Names the secrets without showing them. */
function summary({ enabled, host, port, inspectorPort, secret, routes = [], runner, command, model }: Answers): string {
  const listener = enabled === true ? `on, at ${addressOf(host, port)}` : 'off';
  const held = secret === undefined ? [] : ['secret    into .env'];
  const how = model === undefined ? (command ?? []).map(typedWord).join(' ') : `${model.name}, ${model.baseUrl}`;
  return [
    `webhooks  ${listener}`,
    ...(inspectorPort === undefined ? [] : [`inspector at port ${inspectorPort}`]),
    ...held,
    ...routes.flatMap(summaryOfRoute),
    `agent     ${runner}${how === '' ? '' : `: ${how}`}`,
    ...(model?.key === undefined ? [] : ['API key   into .env']),
  ].join('\n');
}

function summaryOfRoute({ name, secret, toolsets = [] }: RouteAnswer): readonly string[] {
  const servers = toolsets.flatMap((toolset) => /^mcp-(.+)$/.exec(toolset)?.[1] ?? []);
  return [
    `route     ${name}${secret === undefined ? '' : ', its secret into .env'}`,
    `tools     ${servers.length === 0 ? 'none of the servers' : `of ${servers.join(', ')}`}`,
  ];
}

function addressOf(host = '', port = 0): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A word of a command as a person types it: an option stays without quotes, which `shellWord` adds. */
function typedWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function notEmpty(text: string): string | undefined {
  return text.trim() === '' ? 'It must not be empty' : undefined;
}

function secretProblem(text: string, route: string | undefined): string | undefined {
  if (text === '') return notEmpty(text);
  const weakness = whyWeak(text, route);
  return weakness && `It ${weakness}; type a better one`;
}

function portProblem(text: string): string | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? undefined : 'A whole number from 0 to 65535';
}

function urlProblem(text: string): string | undefined {
  return URL.canParse(text) && /^https?:/.test(text) ? undefined : 'An http or https URL';
}
