import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { Command } from '../../../runtime/control/command.ts';
import { mcpCommands } from '../../../runtime/control/mcp-commands.ts';
import type { OfferCaller } from '../../../runtime/mcp/offers.ts';

const commands = new Map<string, Command>(Object.entries(mcpCommands));

/** The commands over offers that record the caller, and a peer that can leave. */
function stage() {
  const asked: unknown[] = [];
  const told: unknown[] = [];
  let leave = (): void => {};
  /** Records the caller, lets it leave, and resolves with the answer. */
  const answering =
    <Answer>(what: string, answer: Answer) =>
    (...given: readonly unknown[]): Promise<Answer> => {
      const { allows, onProgress, onWaiting, signal, ...caller } = given.at(-1) as OfferCaller;
      onProgress?.({ progress: 1, total: 2 });
      onWaiting?.('q1');
      leave();
      const mayCall = allows({ server: 'a', name: 'mcp__a__x' });
      asked.push([what, ...given.slice(0, -1), caller, mayCall, signal?.aborted]);
      return Promise.resolve(answer);
    };
  const answered = { kind: 'result', result: { content: [], structuredContent: { contents: [] }, isError: false } };
  const fault = { code: 'unknown_prompt', message: 'none' };
  const mcp = {
    serves: (profile: string) => profile !== 'none',
    instructions: (profile: string, allows: OfferCaller['allows']) =>
      allows({ server: 'a', name: 'mcp__a__x' }) ? `of ${profile}` : undefined,
    offers: {
      resources: answering('resources', []),
      readResource: answering('read', answered),
      getPrompt: answering('prompt', { kind: 'fault', fault }),
    },
  };
  const peer = {
    notify: (method: string, params: unknown) => void told.push([method, params]),
    onEnd(end: () => void) {
      leave = end;
      return () => {};
    },
  };
  const run = async (name: string, params: JsonObject = {}): Promise<unknown> =>
    commands.get(name)?.({ daemon: { mcp } } as never, params, peer);
  return { run, asked, told, fault };
}

t.test('CLI-5 · CLI-3 · what is offered is bound to the caller, and ends with its connection', async (t) => {
  const { run, asked, told, fault } = stage();
  t.same(await run('mcp.resources', { toolsets: 'mcp-b' }), []);
  t.same(await run('mcp.readResource', { uri: 'a://b', caller: 'serve', run: 'r1' }), { contents: [] });
  t.same(await run('mcp.getPrompt', { name: 'p', arguments: { who: 'Ada' } }), { error: fault });
  t.same(asked, [
    ['resources', { profile: 'default', caller: 'cli' }, false, true],
    ['read', 'a://b', { profile: 'default', caller: 'serve', run: 'r1' }, true, true],
    ['prompt', 'p', { who: 'Ada' }, { profile: 'default', caller: 'cli' }, true, true],
  ]);
  t.same(told.slice(-2), [
    ['mcp.progress', { progress: 1, total: 2 }],
    ['mcp.waiting', { question: 'q1', message: 'waits for approval q1: `agent approvals`' }],
  ]);
  t.same(await run('mcp.instructions'), { instructions: 'of default' });
  t.same(await run('mcp.instructions', { toolsets: 'mcp-b' }), {});
});

t.test('CLI-3 · PRF-1 · a missing parameter and an unknown profile are refused by name', async (t) => {
  const { run } = stage();
  await t.rejects(run('mcp.readResource'), { code: 'params-missing', message: 'the parameter "uri" is missing' });
  await t.rejects(run('mcp.getPrompt'), { code: 'params-missing' });
  for (const name of ['instructions', 'resources', 'resourceTemplates', 'readResource', 'prompts', 'getPrompt'])
    await t.rejects(run(`mcp.${name}`, { profile: 'none' }), { code: 'profile-unknown' }, name);
});
