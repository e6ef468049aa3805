import t, { type Test } from 'tap';
import { commandOf, eventually, type Gateway, type ServerEntries, startGateway } from '../support/mcp/gateway.ts';
import { serveCommand } from '../support/mcp/serve-clients.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { inAllOnly } from '../support/tier.ts';

const notes = commandOf(stdioPeer(), { tools: { include: ['echo'], resources: false, prompts: false } });
const noUtilities = { resources: false, prompts: false };

/** The entry of a server that serves the tools of a gateway. */
function servedBy(gateway: Gateway, ...more: readonly string[]): Record<string, unknown> {
  const { command, args } = serveCommand(gateway, ...more);
  return { command, args, env: { AGENT_HOME: gateway.home.path }, tools: noUtilities };
}

async function names(gateway: Gateway): Promise<readonly string[]> {
  return (await gateway.tools()).map(({ name }) => name).sort();
}

/** A gateway that has just connected may not have its own server's tools yet; they follow in a notification. */
async function lists(t: Test, gateway: Gateway, expected: readonly string[]): Promise<void> {
  await eventually(async () => (await names(gateway)).length === expected.length || undefined);
  t.strictSame(await names(gateway), expected);
}

async function configured(t: Test, servers: ServerEntries): Promise<Gateway> {
  const gateway = await startGateway(t, servers);
  for (const name of Object.keys(servers)) await gateway.reaches(name, 'connected');
  return gateway;
}

t.test('CLI-5 · LIF-7 · a gateway that serves its tools to itself is refused, whatever starts it', async (t) => {
  const gateway = await configured(t, { notes });
  const self = servedBy(gateway);
  const hidden = { ...self, command: '/bin/sh', args: ['-c', '"$@"', 'sh', self.command, ...(self.args as string[])] };
  const narrow = servedBy(gateway, '--toolsets', 'mcp-notes');

  gateway.configure({ notes, self, hidden, narrow });

  for (const name of ['self', 'hidden', 'narrow']) {
    const { error } = await gateway.reaches(name, 'failed');
    t.match(
      error,
      /serves the tools of this gateway to itself by `agent mcp serve`.*; remove it by `agent mcp remove /,
    );
  }
  t.strictSame(await names(gateway), ['mcp__notes__echo']);
  const tried = await gateway.cli('mcp', 'test', 'self');
  t.equal(tried.code, 1);
  t.match(tried.stdout + tried.stderr, /to itself/, 'a test says so too');
});

t.test('CLI-5 · LIF-7 · two gateways that serve each other have each tool once', { skip: inAllOnly }, async (t) => {
  const one = await configured(t, { notes });
  const two = await configured(t, { notes, one: servedBy(one) });

  one.configure({ notes, two: servedBy(two) });

  const { error } = await one.reaches('two', 'backingOff', 'parked');
  t.match(error, /to itself through another gateway.*--toolsets/);
  await lists(t, one, ['mcp__notes__echo']);
  await lists(t, two, ['mcp__notes__echo', 'mcp__one__mcp__notes__echo']);

  await t.test('and with other tools than each other’s, both', async (t) => {
    two.configure({ notes, one: servedBy(one, '--toolsets', 'mcp-notes') });
    one.configure({ notes, two: servedBy(two, '--toolsets', 'mcp-notes') });
    await lists(t, one, ['mcp__notes__echo', 'mcp__two__mcp__notes__echo']);
    await lists(t, two, ['mcp__notes__echo', 'mcp__one__mcp__notes__echo']);
  });
});

t.test('CLI-5 · LIF-7 · a circle that closes behind a connected gateway is cut', async (t) => {
  const [one, two, three] = await Promise.all([startGateway(t, {}), startGateway(t, {}), startGateway(t, { notes })]);

  for (const [gateway, name, next] of [
    [one, 'two', two],
    [two, 'three', three],
    [three, 'one', one],
  ] as const)
    gateway.configure({ ...(gateway === three ? { notes } : {}), [name]: servedBy(next) });

  await eventually(async () => {
    const rows = (await Promise.all([one, two, three].map((each) => each.list()))).flat();
    return rows.some(({ error = '' }) => error.includes('to itself')) || undefined;
  });
  for (const gateway of [one, two, three]) t.ok((await names(gateway)).length <= 4);
});

t.test('CLI-5 · PRF-1 · the tools of another profile are served to a gateway', async (t) => {
  const gateway = await startGateway(t, {}, { config: { gateway: { multiplex_profiles: true } } });
  gateway.home.write('profiles/work/config.yaml', JSON.stringify({ mcp_servers: { notes } }));
  gateway.configure({ work: servedBy(gateway, '--profile', 'work') });

  await gateway.reaches('work', 'connected');

  await eventually(async () => (await names(gateway)).length > 0 || undefined);
  t.match(await gateway.call('mcp__work__mcp__notes__echo', { text: 'hello' }), { content: [{ text: /hello/ }] });
});
