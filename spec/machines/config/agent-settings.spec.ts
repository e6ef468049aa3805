import t from 'tap';
import { checkAgent, doubtsOfAgent, interpolateAgent, readAgent } from '../../../machines/config/agent-settings.ts';
import type { EntryFinding } from '../../../machines/config/diagnostic.ts';
import type { InterpolationScope } from '../../../machines/config/interpolate.ts';

const scope: InterpolationScope = {
  secrets: new Map([['KEY', 'k1']]),
  env: { AGENT_MCP_CONFIG: '/of/another/run', TOOL: 'claude' },
  userHome: '/home/me',
  workspaceFolder: '/work',
  pathSeparator: '/',
};
const model = { provider: 'anthropic', base_url: 'https://api.example', name: 'm' };

t.test('CON-3 · INT-1 · references are replaced, those to the variables of a run when it runs', (t) => {
  const written = {
    command: ['${TOOL}', '--mcp-config', '${AGENT_MCP_CONFIG}', '${env:AGENT_PROMPT_FILE}'],
    model: { ...model, api_key: '${KEY}' },
  };
  t.same(interpolateAgent(written, scope), {
    command: ['claude', '--mcp-config', '${AGENT_MCP_CONFIG}', '${AGENT_PROMPT_FILE}'],
    model: { ...model, api_key: 'k1' },
  });
  t.same(interpolateAgent({}, scope), {});
  t.end();
});

t.test('CON-3 · CFG-2 · SEC-4 · what keeps the agent from running is found at its place', (t) => {
  const rows: readonly (readonly [Parameters<typeof checkAgent>[0], readonly string[]])[] = [
    [{}, []],
    [{ runner: 'model', model }, []],
    [{ runner: 'command' }, ['error agent.runner agent-command-missing']],
    [{ runner: 'model' }, ['error agent.runner agent-model-missing']],
    [{ model: { ...model, base_url: 'api.example' } }, ['error agent.model.base_url agent-endpoint']],
    [{ model: { ...model, base_url: 'ftp://api.example' } }, ['error agent.model.base_url agent-endpoint']],
    [{ model: { ...model, base_url: 'https://user:pw@api.example' } }, ['error agent.model.base_url agent-endpoint']],
    [{ web_search: { base_url: '${SEARCH_URL}' } }, ['error agent.web_search.base_url agent-endpoint']],
    [{ web_search: {} }, ['error agent.web_search agent-search-incomplete']],
    [{ web_search: null }, []],
    [{ web_search: { provider: 'brave' } }, ['error agent.web_search agent-search-incomplete']],
    [{ web_search: { provider: 'brave', api_key: '${KEY}x' } }, ['warning agent.web_search.api_key secret-unresolved']],
    [{ web_search: { provider: 'exa', api_key: 'k' } }, []],
    // The schema refuses the provider.
    [{ web_search: { provider: 'bravo' } }, []],
    [{ model: { ...model, api_key: '${MODEL_KEY}' } }, ['warning agent.model.api_key secret-unresolved']],
    [{ env: ['KEY', 'TOOL'] }, []],
    [
      { env: ['KEY', 'UNSET', 'constructor'] },
      ['warning agent.env.1 variable-unset', 'warning agent.env.2 variable-unset'],
    ],
    [{ command: ['a', '--id=${AGENT_DELIVERY_ID}', '${AGENT_RUN_ID}'] }, []],
    [{ command: ['a', '${AGENT_DELIVERY_ID}'] }, ['warning agent.command.1 command-word-of-sender']],
    [
      { command: ['${TOOL}', '${env:KEY}'] },
      ['warning agent.command.0 variable-unset', 'warning agent.command.1 variable-unset'],
    ],
    [{ command: ['sh', '-c', 'exec "${TOOL}" $1', '${workspaceFolder}', '${AGENT_PROMPT_FILE}'] }, []],
    // Only the shape is wrong there, which the schema says.
    [{ command: [{ toString: null }], env: [{ toString: null }] }, []],
  ];
  for (const [agent, expected] of rows) {
    const words = (severity: string) => (found: EntryFinding) => `${severity} ${found.path.join('.')} ${found.code}`;
    const found = [...checkAgent(agent).map(words('error')), ...doubtsOfAgent(agent, scope).map(words('warning'))];
    t.same(found, expected, JSON.stringify(agent));
  }
  t.notMatch(JSON.stringify(checkAgent({ model: { ...model, base_url: 'https://user:pw@api.example' } })), 'pw@');
  t.match(checkAgent({ web_search: { base_url: 'ftp://search' } })[0]?.message, /such as http:..127\.0\.0\.1:8888$/);
  t.match(checkAgent({ web_search: { base_url: '${SEARCH_URL}' } }), [
    {
      message:
        'agent.web_search.base_url refers to "SEARCH_URL", which is not set; set SEARCH_URL in .env or in the environment',
    },
  ]);
  t.match(checkAgent({ web_search: { provider: 'brave' } }), [
    { message: 'agent.web_search has no api_key; give one such as ${BRAVE_API_KEY}' },
  ]);
  t.match(doubtsOfAgent({ command: ['a', '${AGENT_ROUTE}'] }, scope), [
    { message: /has the word \$\{AGENT_ROUTE\}, which is not replaced; let the program read its variable/ },
  ]);
  t.end();
});

t.test('CON-3 · the section is read with its defaults', (t) => {
  t.same(readAgent({}), { runner: 'echo', command: [], timeoutMs: 600_000, concurrency: 4, onInterrupted: 'rerun' });
  const prices = { input_per_million: 4, output_per_million: 15 };
  const kept = { inputPerMillion: 4, cachedPerMillion: 0.4, writtenPerMillion: 5, outputPerMillion: 15 };
  t.match(
    readAgent({
      runner: 'model',
      model: { ...model, api_key: 'k', max_steps: 5, max_tokens: 100, prices, other_prices: { small: prices } },
      web_search: { base_url: 'http://127.0.0.1:8888', api_key: 's' },
    }),
    {
      model: {
        provider: 'anthropic',
        baseUrl: 'https://api.example',
        apiKey: 'k',
        name: 'm',
        maxSteps: 5,
        maxTokens: 100,
        prices: kept,
        otherPrices: { small: kept },
      },
      search: { provider: 'searxng', baseUrl: 'http://127.0.0.1:8888', apiKey: 's' },
    },
  );
  const hosted = { provider: 'tavily', api_key: 's' };
  t.match(readAgent({ web_search: hosted }).search, { provider: 'tavily', baseUrl: 'https://api.tavily.com' });
  t.match(readAgent({ web_search: { ...hosted, base_url: 'http://here' } }).search, { baseUrl: 'http://here' });
  t.equal(readAgent({ model }).model?.maxSteps, 20);
  const other = { ...model, provider: 'openai-compatible' };
  t.match(readAgent({ model: { ...other, prices } }).model?.prices, { cachedPerMillion: 4, writtenPerMillion: 4 });
  const own = { ...prices, cached_per_million: 1, written_per_million: 2 };
  for (const one of [model, other]) {
    const read = readAgent({ model: { ...one, prices: own } }).model?.prices;
    t.match(read, { cachedPerMillion: 1, writtenPerMillion: 2 });
  }
  t.end();
});
