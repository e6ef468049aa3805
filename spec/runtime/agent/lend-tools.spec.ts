import t from 'tap';
import { createLendTools, type LendToolsPorts } from '../../../runtime/agent/lend-tools.ts';
import type { ApprovalAnswer, ApprovalQuestion } from '../../../runtime/mcp/approvals.ts';
import type { CallRequest } from '../../../runtime/mcp/calls.ts';
import type { RegisteredTool } from '../../../runtime/mcp/registry.ts';
import { startModelServer } from '../../support/model-server.ts';

const never = new AbortController().signal;
const model = { provider: 'anthropic', baseUrl: 'http://127.0.0.1:9', name: 'm', maxSteps: 1 } as const;
const run = {
  model,
  profile: 'work',
  toolsets: ['clarify', 'mcp-files'],
  who: 'a run of route "r"',
  caller: 'run',
} as const;

function tool(server: string, name: string, definition: RegisteredTool['definition'] = {}): RegisteredTool {
  return { name: `mcp__${server}__${name}`, server, tool: name, kind: 'native', definition } as RegisteredTool;
}

interface Stage {
  readonly ports: LendToolsPorts;
  readonly called: CallRequest[];
  readonly asked: { readonly question: ApprovalQuestion; readonly answer: (answer: ApprovalAnswer) => void }[];
  readonly withdrawn: string[];
  readonly warned: string[];
}

function stage(more: Partial<LendToolsPorts> = {}): Stage {
  const called: CallRequest[] = [];
  const asked: Stage['asked'] = [];
  const withdrawn: string[] = [];
  const warned: string[] = [];
  const tools = [
    tool('files', 'read', { description: 'Reads.', inputSchema: { type: 'object', required: ['path'] } }),
    tool('files', 'bare', { inputSchema: 'none' }),
    tool('other', 'write'),
  ];
  const ports: LendToolsPorts = {
    registry: () => ({ all: () => tools }),
    calls: {
      start: (request) => {
        called.push(request);
        return Promise.resolve(
          request.name.endsWith('bare')
            ? { kind: 'fault', fault: { code: 'server_unavailable', message: 'gone' } }
            : { kind: 'result', result: { content: [{ type: 'text', text: 'read' }], isError: false } },
        );
      },
    },
    approvals: {
      ask: (question, answer) => {
        asked.push({ question, answer });
        return `a${asked.length}`;
      },
      withdraw: (id) => void withdrawn.push(id),
    },
    nowMs: () => 0,
    random: () => 0,
    log: { log: () => {}, warnOnce: (_, message) => void warned.push(message) },
    ...more,
  };
  return { ports, called, asked, withdrawn, warned };
}

t.test('DIS-5 · PRF-2 · a run is lent what its toolsets name, and can call nothing else', async (t) => {
  const { ports, called, warned } = stage();
  const tools = createLendTools(ports)(run);
  t.match(tools.offers, [
    { name: 'clarify' },
    {
      name: 'mcp__files__read',
      description: 'Reads.',
      inputSchema: { type: 'object', properties: {}, required: ['path'] },
    },
    { name: 'mcp__files__bare', description: '', inputSchema: { type: 'object', properties: {} } },
  ]);
  t.equal(tools.offers.length, 3);
  t.same(await tools.call('mcp__files__read', { path: 'x' }, never), { text: 'read', isError: false });
  t.match(called, [{ profile: 'work', name: 'mcp__files__read', args: { path: 'x' }, caller: 'run' }]);
  const [read] = called;
  t.same(
    [read?.allows?.({ server: 'files', name: 'x' }), read?.allows?.({ server: 'other', name: 'x' })],
    [true, false],
  );
  t.match(await tools.call('mcp__files__bare', {}, never), { text: 'gone [server_unavailable]', isError: true });
  t.match(await tools.call('mcp__other__write', {}, never), { text: /no tool is named/, isError: true });
  t.match(await tools.call('web_extract', {}, never), { text: /no tool is named/, isError: true });
  t.equal(called.length, 2);
  t.same(warned, []);
});

t.test('DIS-5 · what a toolset names in vain is warned of, the default’s servers are not', (t) => {
  const { ports, warned } = stage({ registry: () => undefined });
  createLendTools(ports)({ ...run, toolsets: ['web_search', 'mcp-*', 'mcp__files__gone'] });
  t.match(warned, [
    /profile "work": web_search is not offered: .*set agent\.web_search$/,
    /"mcp__files__gone" names no tool/,
  ]);
  t.equal(warned.length, 2);
  const found = stage({ search: { provider: 'searxng', baseUrl: 'http://127.0.0.1:9' } });
  t.match(createLendTools(found.ports)({ ...run, toolsets: ['web_search'] }).offers, [{ name: 'web_search' }]);
  t.end();
});

t.test('TRU-3 · DIS-5 · a question to a person is asked once, and withdrawn with the run', async (t) => {
  const { ports, asked, withdrawn } = stage();
  const tools = createLendTools(ports)(run);
  const first = tools.call('clarify', { question: 'Which?' }, never);
  t.match(asked[0]?.question, {
    profile: 'work',
    server: 'agent',
    kind: 'form',
    tool: 'clarify',
    message: 'a run of route "r" asks: Which?',
  });
  asked[0]?.answer({ verdict: 'approved', values: { answer: 'red' } });
  t.same(await first, { text: 'red', isError: false });
  const late = tools.call('clarify', { question: 'And?' }, never);
  asked[1]?.answer({ verdict: 'timedOut', values: null });
  t.match(await late, { text: /There was no answer/ });

  const stop = new AbortController();
  const stopped = tools.call('clarify', { question: 'Still?' }, stop.signal);
  stop.abort();
  t.match(await stopped, { text: /declined/ });
  t.same(withdrawn, ['a3']);
  await tools.call('clarify', { question: 'Never?' }, AbortSignal.abort());
  t.equal(asked.length, 3, 'a run that is stopped asks nobody');
});

t.test('DIS-5 · the model of the run looks at its pictures, not that of the profile', async (t) => {
  const server = await startModelServer(t, [{ kind: 'says', text: 'A cat.' }]);
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
  const { ports } = stage({
    fetchPublic: ({ url }) => Promise.resolve({ kind: 'fetched', url, type: 'image/png', bytes }),
  });
  const asked = { ...model, baseUrl: server.url, name: 'sees' };
  const tools = createLendTools(ports)({ ...run, toolsets: ['vision_analyze'], model: asked });
  t.match(await tools.call('vision_analyze', { image_url: 'https://example.org/a.png' }, never), { text: 'A cat.' });
  t.match(server.asked, [{ body: { model: 'sees' } }]);
});

t.test('DIS-3 · a call has the names of the tool’s own schema, whatever the model was offered', async (t) => {
  const odata = tool('files', 'odata', { inputSchema: { type: 'object', properties: { $top: { type: 'number' } } } });
  const { ports, called } = stage({ registry: () => ({ all: () => [odata] }) });
  const tools = createLendTools(ports)({ ...run, toolsets: ['mcp-files'] });
  const [name = ''] = Object.keys((tools.offers[0]?.inputSchema.properties ?? {}) as object);
  t.match(name, /^[a-zA-Z0-9_.-]{1,64}$/);
  await tools.call('mcp__files__odata', { [name]: 3 }, never);
  t.match(called, [{ args: { $top: 3 } }]);
});
