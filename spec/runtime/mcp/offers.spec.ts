import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { OfferList } from '../../../machines/mcp/offers.ts';
import type { CallAnswer, CallRequest } from '../../../runtime/mcp/calls.ts';
import { createOffers, type OfferCaller } from '../../../runtime/mcp/offers.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { lentTime } from '../../support/lent-time.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';

const log = { log: () => {}, warnOnce: () => {} };
const caller: OfferCaller = { profile: 'default', caller: 'serve', allows: () => true };
const away: CallAnswer = { kind: 'fault', fault: { code: 'server_unavailable', message: 'it is away' } };

/** Servers by name, each with its state; a call is answered by `answer`. */
function stage(states: Record<string, string>, answer: (request: CallRequest) => CallAnswer | Promise<CallAnswer>) {
  const registry = createRegistry(log);
  registry.configure(Object.keys(states).map((name) => settingsOf({ command: 'x' }, name)));
  for (const name of Object.keys(states))
    registry.learn(name, { tools: [], capabilities: { resources: {}, prompts: {} } });
  const asked: string[] = [];
  const offers = createOffers({
    calls: {
      start: async (request) => {
        if (request.allows === undefined) throw new Error('SEC-4: a request goes without the bounds of its caller');
        asked.push(`${request.name} ${request.method} ${JSON.stringify(request.args)}`);
        return answer(request);
      },
    },
    registry: (profile) => (profile === 'default' ? registry : undefined),
    state: (_, server) => states[server] ?? '',
    keep: (_, server, list, rows) => void registry.keepOffered(server, list, rows),
  });
  return { offers, registry, asked, states };
}

function rows(request: CallRequest, listed: Partial<Record<OfferList, readonly JsonObject[]>>): CallAnswer {
  const { method = 'resources/list' } = request;
  const key = { 'resources/list': 'resources', 'resources/templates/list': 'resourceTemplates' }[method as string];
  const structuredContent = { [key ?? 'prompts']: listed[method as OfferList] ?? [] };
  return { kind: 'result', result: { content: [], structuredContent, isError: false } };
}

t.test(
  'CLI-5 · LIF-6 · a server that sleeps or connects is listed as before at once; one that is down is left out',
  async (t) => {
    const { offers, asked, registry } = stage(
      { a: 'connected', b: 'lazy', c: 'recycling', d: 'parked', e: 'connecting', f: 'connecting' },
      (request) => rows(request, { 'resources/list': [{ uri: 'up://x', name: 'x' }] }),
    );
    registry.keepOffered('c', 'resources/list', [{ uri: 'sleeping://x', name: 'x' }]);
    registry.keepOffered('d', 'resources/list', [{ uri: 'down://x', name: 'x' }]);
    registry.keepOffered('e', 'resources/list', [{ uri: 'coming://x', name: 'x' }]);

    t.same(await offers.resources(caller), [
      { uri: 'up://x', name: 'x' },
      { uri: 'sleeping://x', name: 'x' },
      { uri: 'coming://x', name: 'x' },
    ]);
    t.same(asked, ['mcp__a__list_resources resources/list {}']);
    t.same(await offers.resources({ ...caller, profile: 'none' }), []);
  },
);

t.test('CLI-5 · a listing of many servers is no leak to Node', async (t) => {
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', hear);
  const states = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`s${n}`, 'connected']));
  const { offers, asked } = stage(states, (request) => rows(request, {}));
  await offers.resources({ ...caller, signal: new AbortController().signal });
  // Node warns after the tick in which it counts.
  await new Promise(setImmediate);
  process.off('warning', hear);
  t.equal(asked.length, 15);
  t.same(warnings, []);
});

t.test('CLI-5 · LIF-6 · an address that is not known yet wakes the servers that may have it', async (t) => {
  const { offers, asked } = stage({ a: 'connected', b: 'lazy' }, (request) =>
    rows(request, request.name.startsWith('mcp__b') ? { 'resources/list': [{ uri: 'b://x', name: 'x' }] } : {}),
  );
  await offers.readResource('b://x', caller);
  t.equal(asked.length, 5);
  t.equal(asked.at(-1), 'mcp__b__read_resource resources/read {"uri":"b://x"}');
  await offers.readResource('b://x', caller);
  t.equal(asked.length, 6, 'and is known from then on');
});

t.test('CLI-5 · the view that a tool names is read at its server, which need not list it', async (t) => {
  const { offers, asked, registry } = stage({ a: 'connected', b: 'connected' }, (request) => rows(request, {}));
  const inputSchema = { type: 'object' };
  const tools = [
    { name: 'draw', inputSchema, _meta: { ui: { resourceUri: 'ui://b/view' } } },
    { name: 'paint', inputSchema, _meta: { 'ui/resourceUri': 'ui://b/older' } },
  ];
  registry.learn('b', { tools, capabilities: { resources: {}, prompts: {} } });

  t.match(await offers.readResource('ui://b/view', caller), { kind: 'result' });
  t.match(await offers.readResource('ui://b/older', caller), { kind: 'result' });

  t.same(asked, [
    'mcp__b__read_resource resources/read {"uri":"ui://b/view"}',
    'mcp__b__read_resource resources/read {"uri":"ui://b/older"}',
  ]);
  const withoutIt = { ...caller, allows: ({ name }: { name: string }) => name !== 'mcp__b__draw' };
  t.match(await offers.readResource('ui://b/view', withoutIt), { fault: { code: 'unknown_resource' } });
});

t.test('CLI-5 · a resource to which a tool links is read at its server, of the newest links', async (t) => {
  const { offers, asked } = stage({ a: 'connected', b: 'connected' }, (request) => rows(request, {}));
  const link = (n: number) => ({ type: 'resource_link', uri: `made://${n}`, name: 'made' });
  offers.keepLinks('default', 'a', [link(0), link(1)]);
  offers.keepLinks('default', 'b', [{ type: 'text', text: 'made://2', uri: 'made://2' }, link(1)]);
  offers.keepLinks('work', 'a', [link(1)]);

  t.match(await offers.readResource('made://1', caller), { kind: 'result' });

  t.same(asked, ['mcp__b__read_resource resources/read {"uri":"made://1"}']);
  t.match(await offers.readResource('made://2', caller), { fault: { code: 'unknown_resource' } });
  for (let n = 2; n <= 1_000; n += 1) offers.keepLinks('default', 'a', [link(n)]);
  t.match(await offers.readResource('made://0', caller), { fault: { code: 'unknown_resource' } });
  t.match(await offers.readResource('made://1000', caller), { kind: 'result' });
});

t.test('CLI-5 · LIF-7 · a reachable server has an address before one that is down, which is tried too', async (t) => {
  const { offers, asked, registry, states } = stage({ a: 'parked', b: 'connected' }, () => away);
  for (const name of ['a', 'b']) registry.keepOffered(name, 'resources/list', [{ uri: 'both://x', name: 'x' }]);
  registry.keepOffered('a', 'prompts/list', [{ name: 'p' }]);
  t.same(await offers.readResource('both://x', caller), away);
  states.b = 'parked';
  await offers.readResource('both://x', caller);
  await offers.getPrompt('mcp__a__p', {}, caller);
  t.same(asked, [
    'mcp__b__read_resource resources/read {"uri":"both://x"}',
    'mcp__a__read_resource resources/read {"uri":"both://x"}',
    'mcp__a__get_prompt prompts/get {"name":"p","arguments":{}}',
  ]);
});

t.test(
  'CLI-5 · LIF-3 · a server that does not list in time is listed as before, one that is away is not',
  async (t) => {
    const time = lentTime(t);
    const silent = ({ signal }: CallRequest): Promise<CallAnswer> =>
      new Promise((resolve) => {
        const cancelled: CallAnswer = { kind: 'fault', fault: { code: 'cancelled', message: '' } };
        signal?.addEventListener('abort', () => resolve(cancelled));
      });
    const { offers, registry } = stage({ a: 'connected', b: 'connected', c: 'connected' }, (request) => {
      if (request.name.startsWith('mcp__c')) return away;
      return silent(request);
    });
    for (const name of ['a', 'c']) registry.keepOffered(name, 'prompts/list', [{ name: 'p', title: 'P' }]);

    const listing = offers.prompts(caller);
    await time.pass(15_000);

    t.same(await listing, [{ name: 'mcp__a__p', title: 'P' }]);
  },
);

t.test(
  'NAM-2 · CLI-5 · prompts that would be named alike are left out, or the first configured keeps the name',
  async (t) => {
    const { offers } = stage({ 'a.b': 'connected', 'a-b': 'connected' }, (request) =>
      rows(request, { 'prompts/list': [{ name: 'one' }, { name: 'x.y' }, { name: 'x-y' }] }),
    );
    t.same(await offers.prompts(caller), [{ name: 'mcp__a_b__one' }]);
  },
);

t.test('CLI-5 · what no server of the caller has is a fault with its cure', async (t) => {
  const { offers } = stage({ a: 'connected', b: 'connected' }, (request) =>
    rows(request, { 'resources/templates/list': [{ uriTemplate: 't://{x}', name: 't' }] }),
  );
  const onlyA = { ...caller, allows: ({ server }: { server: string }) => server === 'a' };
  t.match(await offers.readResource('t://1', caller), {
    fault: { code: 'ambiguous_resource', message: /call mcp__a__read_resource or mcp__b__read_resource instead/ },
  });
  t.match(await offers.readResource('t://1', onlyA), { kind: 'result' });
  t.match(await offers.readResource('none://1', caller), { fault: { code: 'unknown_resource' } });
  t.match(await offers.getPrompt('none', {}, caller), {
    fault: { code: 'unknown_prompt', message: /`prompts\/list`/ },
  });
});

t.test(
  'CLI-5 · LIF-14 · templates that take too many steps match nothing, and cost no other server its own',
  async (t) => {
    const costly = Array.from({ length: 100 }, () => ({ uriTemplate: `t://${'{+a}'.repeat(16)}!`, name: 'costly' }));
    const matching = { uriTemplate: 't://{+a}', name: 'matching' };
    const { offers, asked } = stage({ a: 'connected', b: 'connected' }, (request) =>
      rows(request, {
        'resources/templates/list': request.name.startsWith('mcp__a') ? [...costly, matching] : [matching],
      }),
    );
    const uri = `t://${'a'.repeat(2_000)}`;
    t.match(await offers.readResource(uri, caller), { kind: 'result' });
    t.match(asked.at(-1), /^mcp__b__read_resource/);
  },
);
