/** What servers ask of their client, in a real daemon: a form for a person, an address, a model, the roots, the log. */

import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { listenHttp } from '../support/http-listener.ts';
import {
  type CallAnswer,
  commandOf,
  controlOf,
  entryOf,
  eventually,
  startGateway,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { type AskedModel, type ModelReply, startModelServer } from '../support/model-server.ts';
import { inAllOnly } from '../support/tier.ts';

/** Answers a sample with the name of its model. */
const hello = ({ body }: AskedModel): ModelReply => ({ kind: 'whole', text: `hello from ${body.model}` });

/** What the peer says it was answered, or how its tool failed. */
function told(answer: Parameters<typeof wordsOf>[0]): JsonObject {
  const words = wordsOf(answer);
  try {
    return JSON.parse(words) as JsonObject;
  } catch {
    return { words: words || (answer.error?.message ?? '') };
  }
}

for (const kind of ['http', 'sse', 'modern', 'stdio'] as const) {
  t.test(`forms over ${kind}`, { skip: (kind === 'sse' || kind === 'http') && inAllOnly }, async (t) => {
    const peer = kind === 'stdio' ? undefined : await started(t, { kind });
    const entry = (more: Record<string, unknown> = {}) =>
      peer === undefined ? commandOf(stdioPeer(), more) : entryOf(peer, more);
    const gateway = await startGateway(
      t,
      {
        peer: entry(),
        hasty: entry({ timeout: 30, elicitation: { timeout: 60 } }),
        never: entry({ elicitation: { enabled: false } }),
      },
      { timePasses: true },
    );
    for (const server of ['peer', 'hasty', 'never']) await gateway.reaches(server, 'connected');

    t.test(`SRV-1 · TRU-3 · ${kind}: a form is answered from the command line with its values`, async (t) => {
      const call = gateway.control.call('mcp.call', { name: 'mcp__peer__ask', run: 'the-run' });
      const row = await gateway.asked();
      const run = 'the-run';
      t.match(
        row,
        { kind: 'form', server: 'peer', run, message: 'What is your name?' },
        'it is known whose call it is of',
      );
      const shown = JSON.parse((await gateway.cli('approvals', 'show', row.id, '--json')).stdout);
      t.match(shown.detail, { type: 'object', properties: { name: { type: 'string' } } });

      const wrong = await gateway.cli('approvals', 'approve', row.id, '--values', '{"name": 5}');
      const noJson = await gateway.cli('approvals', 'approve', row.id, '--values', 'Ada');
      const right = await gateway.cli('approvals', 'approve', row.id, '--values', '{"name": "Ada"}');

      t.equal(wrong.code, 1);
      t.match(wrong.stderr, new RegExp(`approval ${row.id}: name .*; give the values anew \\[approval-values\\]`));
      t.equal(noJson.code, 2);
      t.equal(right.code, 0);
      t.match(told((await call) as CallAnswer), { action: 'accept', content: { name: 'Ada' } });
    });

    t.test(`SRV-1 · ${kind}: a form that a person denies is declined`, async (t) => {
      const call = gateway.call('mcp__peer__ask');
      const { id } = await gateway.asked();

      await gateway.cli('approvals', 'deny', id);

      t.match(told(await call), { action: 'decline' });
    });

    t.test(
      `SRV-1 · TRU-5 · ${kind}: a form that is not answered is cancelled when its time is over, its call goes on`,
      async (t) => {
        const call = gateway.call('mcp__hasty__ask');
        await gateway.asked();

        await gateway.daemon.pass(60_000);

        t.match(told(await call), { action: 'cancel' });
        t.same(await gateway.approvals(), []);
      },
    );

    t.test(`SRV-1 · ${kind}: an address is never opened: it is declined, and no person is asked`, async (t) => {
      t.match(told(await gateway.call('mcp__peer__ask_url')), { action: 'decline' });
      t.same(await gateway.approvals(), []);
    });

    t.test(
      `SRV-1 · ${kind}: where elicitation is disabled the server gets a refusal, and no person is asked`,
      async (t) => {
        const answer = await gateway.call('mcp__never__ask');

        t.ok(answer.error !== undefined || answer.isError === true || /not support/i.test(wordsOf(answer)));
        t.same(await gateway.approvals(), []);
      },
    );

    t.test(`SRV-1 · TRU-5 · ${kind}: a form goes when the call that needs it is cancelled`, async (t) => {
      const control = await controlOf(t, gateway.home);
      const refused = t.rejects(control.call('mcp.call', { name: 'mcp__peer__ask' }));
      await gateway.asked();

      control.close();

      await refused;
      await eventually(async () => ((await gateway.approvals()).length === 0 ? true : undefined));
    });
  });
}

t.test('TRU-5 · SRV-1 · what a server asks on the stream of a call that has ended is refused at once', async (t) => {
  const answers = new Map<unknown, JsonObject>();
  const tools = [{ name: 'tool', inputSchema: { type: 'object' } }];
  const { url } = await listenHttp(t, async (request, response) => {
    const { id, method, params, ...answer } = JSON.parse((await text(request)) || '{}') as JsonObject;
    if (request.method !== 'POST' || method === undefined || id === undefined) {
      if (id !== undefined) answers.set(id, answer);
      response.writeHead(request.method === 'POST' ? 202 : 405).end();
      return;
    }
    const serverInfo = { name: 'late', version: '1' };
    const { protocolVersion = '' } = (params ?? {}) as JsonObject;
    const results: JsonObject = {
      initialize: { protocolVersion, capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools },
      'tools/call': { content: [] },
    };
    const say = (message: JsonObject): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(say({ id, result: results[String(method)] ?? {} }));
    if (method !== 'tools/call') return void response.end();
    response.write(
      say({
        ...{ id: 'form', method: 'elicitation/create' },
        params: { message: 'Still there?', requestedSchema: { type: 'object', properties: {} } },
      }),
    );
    response.end(say({ id: 'text', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }));
  });
  const gateway = await startGateway(t, { late: { url: `${url}/mcp`, skip_preflight: true } });
  await gateway.reaches('late', 'connected');

  t.match(await gateway.call('mcp__late__tool'), { content: [] });

  await eventually(() => answers.size === 2 || undefined);
  t.match(answers.get('form'), { result: { action: 'cancel' } });
  t.match(answers.get('text'), { error: { message: /its call has ended/ } });
  t.same(await gateway.approvals(), []);
});

t.test('what server-everything asks', async (t) => {
  const model = await startModelServer(t, hello);
  const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const gateway = await startGateway(
    t,
    { everything: { command: process.execPath, args: [everything, 'stdio'] } },
    { config: { agent: { runner: 'echo', model: { provider: 'openai-compatible', base_url: model.url, name: 'm' } } } },
  );
  await gateway.reaches('everything', 'connected');

  t.test('SRV-1 · typed values are checked against its form, and reach it as it asked for them', async (t) => {
    const ask = await eventually(async () =>
      (await gateway.tools('everything')).find(({ tool }) => tool === 'trigger-elicitation-request'),
    );
    const call = gateway.call(ask.name);
    const { id } = await gateway.asked();
    const good = { name: 'Ada', check: true, integer: 7, number: 1.5, untitledMultipleSelectEnum: ['Piano'] };
    const rows: readonly JsonObject[] = [
      { check: true },
      { ...good, check: 'perhaps' },
      { ...good, integer: 101 },
      { ...good, number: 'many' },
      { ...good, email: 'no address' },
      { ...good, untitledMultipleSelectEnum: ['Trumpet'] },
      { ...good, untitledSingleSelectEnum: 'Gunther' },
    ];
    for (const values of rows) {
      const { code, stderr } = await gateway.cli('approvals', 'approve', id, '--values', JSON.stringify(values));
      t.equal(code, 1, JSON.stringify(values));
      t.match(stderr, /\[approval-values\]/);
    }

    t.equal((await gateway.cli('approvals', 'approve', id, '--values', JSON.stringify(good))).code, 0);

    const words = JSON.stringify(await call);
    t.match(words, /- Name: Ada/);
    t.match(words, /- Agreed to terms: true/);
    t.match(words, /- Favorite Integer: 7/);
    t.match(words, /- Favorite Number: 1\.5/);
    t.match(words, /Piano/);
  });

  t.test('SRV-2 · it gets its sample from the model, within its bounds', async (t) => {
    const answer = await gateway.call('mcp__everything__trigger_sampling_request', { prompt: 'Say it', maxTokens: 50 });

    t.match(wordsOf(answer), /hello from m/);
    t.match(model.asked.at(-1)?.body, { max_tokens: 50, model: 'm' });
    t.match(JSON.stringify(model.asked.at(-1)?.body.messages), /Say it/);
  });

  t.test('SRV-3 · it may ask for roots, and its entry names none', async (t) => {
    t.match(wordsOf(await gateway.call('mcp__everything__get_roots_list')), /no roots are currently configured/);
  });
});

t.test('SRV-1 · TRU-3 · LIF-12 · a form, and a question about a call, go with their server', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer), wary: entryOf(peer, { trust: 'untrusted' }) });
  for (const server of ['peer', 'wary']) await gateway.reaches(server, 'connected');
  const calls = [gateway.call('mcp__peer__ask'), gateway.call('mcp__wary__write_note', { text: 'x' })];
  await eventually(async () => ((await gateway.approvals()).length === 2 ? true : undefined));

  gateway.configure({});
  await gateway.control.call('gateway.reload');

  await eventually(async () => ((await gateway.approvals()).length === 0 ? true : undefined));
  for (const { error } of await Promise.all(calls)) t.ok(error);
  t.equal(peer.executions('write_note'), 0);
});

t.test('sampling with a model', async (t) => {
  let next: ModelReply | undefined;
  const model = await startModelServer(t, (one) => next ?? hello(one));
  const peer = await started(t);
  const modern = await started(t, { kind: 'modern' });
  const config = {
    agent: {
      runner: 'echo',
      model: { provider: 'openai-compatible', base_url: model.url, api_key: 'model-key-0123456789', name: 'own-model' },
    },
  };
  const gateway = await startGateway(
    t,
    {
      peer: entryOf(peer),
      modern: entryOf(modern),
      hasty: entryOf(peer, { sampling: { timeout: 60 } }),
    },
    { config, timePasses: true },
  );
  for (const { name } of await gateway.list()) await gateway.reaches(name, 'connected');

  for (const server of ['peer', 'modern']) {
    t.test(`SRV-2 · ${server}: the agent's own model answers, with its key and the server's words`, async (t) => {
      const answer = told(await gateway.call(`mcp__${server}__sample`));

      t.match(answer, { role: 'assistant', content: { type: 'text', text: 'hello from own-model' } });
      t.match(model.asked.at(-1), {
        headers: { authorization: 'Bearer model-key-0123456789' },
        body: { model: 'own-model', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello' }] },
      });
    });
  }

  t.test('SRV-2 · a model that does not answer in time, or with an error, is a refusal that says so', async (t) => {
    next = { kind: 'silent' };
    const asked = model.asked.length;
    const hanging = gateway.call('mcp__hasty__sample');
    await eventually(() => model.asked.length > asked);
    await gateway.daemon.pass(60_000);
    t.match(JSON.stringify(await hanging), /sampling refused: the model gave no answer in 60 s/);
    next = { kind: 'status', status: 403, body: '{"error":"model-key-0123456789 is no key of ours"}' };
    const failed = JSON.stringify(await gateway.call('mcp__peer__sample'));
    t.match(failed, /the model endpoint answered HTTP 403; check agent\.model/);
    t.notMatch(failed, /model-key-0123456789/);
    next = { kind: 'raw', type: 'application/json', body: `"${'x'.repeat(70_000_000)}"` };
    t.match(JSON.stringify(await gateway.call('mcp__peer__sample')), /answered with more than 67108864 bytes/);
    next = undefined;
    t.match(told(await gateway.call('mcp__peer__sample')), { role: 'assistant' });
  });

  t.test('SRV-2 · OBS-1 · neither the key nor the words of a sample are in the log', (t) => {
    t.notMatch(JSON.stringify(gateway.daemon.log), /model-key-0123456789|Say hello/);
    t.end();
  });
});

for (const kind of ['http', 'sse', 'stdio'] as const) {
  t.test(`SRV-3 · LIF-10 · over ${kind} the server's logging messages are in \`agent mcp logs\``, async (t) => {
    const entry = kind === 'stdio' ? commandOf(stdioPeer()) : entryOf(await started(t, { kind }));
    const gateway = await startGateway(t, { peer: entry });
    await gateway.reaches('peer', 'connected');

    t.equal(wordsOf(await gateway.call('mcp__peer__log', { text: 'a word to the log' })), 'logged');

    await eventually(async () =>
      (await gateway.logs('peer')).includes('[info] a word to the log') ? true : undefined,
    );
    t.match((await gateway.cli('mcp', 'logs', 'peer')).stdout, /\[info\] a word to the log/);
  });
}
