import t, { type Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import type { ConnectionInput, ConnectVerdict } from '../../../machines/mcp/server-connection.machine.ts';
import { wireConnection } from '../../../runtime/mcp/connections.ts';
import type { Reach } from '../../../runtime/mcp/reach.ts';
import type { Sessions } from '../../../runtime/mcp/sessions.ts';
import { plainConnection } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

const input: ConnectionInput = { ...plainConnection, profile: 'work' };
const well: ConnectVerdict = { kind: 'connected', era: 'legacy', tools: 2 };
const busy = (why: string): ConnectVerdict => ({ kind: 'refused', after: 'retry', why, chance: 0.5 });
const fields = { server: 's', profile: 'work' };

/** A connection whose attempts end as they are told to, and what its log and its callers hear. */
function start(t: Test, given: Partial<ConnectionInput>, verdicts: readonly ConnectVerdict[]) {
  const lines: unknown[] = [];
  const told: string[] = [];
  const clock = new SimulatedClock();
  const left = [...verdicts];
  const machine = wireConnection({
    sessions: {
      connect: async () => left.shift() ?? well,
      close: async () => {},
      ping: () => {},
    } as unknown as Sessions,
    reach: {
      reached: (key: string) => void told.push(`reached ${key}`),
      unreachable: (key: string, why: string, code = '') => void told.push(`${key}: ${code}${why}`),
    } as unknown as Reach,
    log: { log: (...line) => void lines.push(line), warnOnce: () => {} },
  });
  const actor = createActor(machine, { input: { ...input, ...given }, clock }).start();
  t.teardown(() => actor.stop());
  return {
    lines,
    told,
    send: actor.send,
    state: () => actor.getSnapshot().value,
    async later(ms: number) {
      clock.increment(ms);
      await turn();
    },
  };
}

t.test('OBS-1 · LIF-1 · each turn of a connection is one line, however many attempts it takes', async (t) => {
  const { lines, later, send, state } = start(t, {}, [
    busy('down'),
    busy('down'),
    busy('mcp server "s": refused'),
    well,
    well,
  ]);
  await later(0);
  for (let round = 0; round < 6 && state() !== 'connected'; round += 1) await later(600_000);
  t.equal(state(), 'connected');
  send({ type: 'server.connect' });
  await later(0);
  await later(0);
  const more = { ...fields, actor: 'connections/s@work' };
  t.same(lines, [
    ['warn', 'mcp server "s": down', more],
    ['warn', 'mcp server "s": refused', more],
    ['info', 'mcp server "s" is connected again', { ...more, tools: 2 }],
  ]);
});

t.test('OBS-1 · LIF-2 · a first connection is logged once, a disabled and an ended server not at all', async (t) => {
  const first = start(t, { profile: 'default' }, [well]);
  await first.later(0);
  first.send({ type: 'server.wake' });
  first.send({ type: 'server.stop', why: 'the gateway stops' });
  await first.later(0);
  t.equal(first.state(), 'stopped');
  t.match(first.lines, [['info', 'mcp server "s" is connected', { tools: 2 }]]);
  t.equal(first.lines.length, 1);

  const off = start(t, { begin: 'disabled' }, []);
  off.send({ type: 'server.stop', why: 'the gateway stops' });
  await off.later(0);
  t.same(off.lines, []);
});

t.test('OBS-1 · CFG-3 · a broken entry is logged once, however often it is called', async (t) => {
  const { lines, send, told } = start(t, { begin: 'failed', why: 'mcp server "s": no url' }, []);
  for (let round = 0; round < 3; round += 1) send({ type: 'server.wake' });
  t.match(lines, [['warn', 'mcp server "s": no url', fields]]);
  t.equal(lines.length, 1);
  t.equal(told.length, 4);
});

t.test('OAU-8 · the calls of a server that needs a login get that as their code', async (t) => {
  const refused: ConnectVerdict = { kind: 'refused', after: 'needsLogin', why: 'log in', chance: 0 };
  const { told, later, send } = start(t, {}, [refused]);
  await later(0);
  send({ type: 'server.wake' });
  t.same(told, Array(2).fill('s@work: needs_loginlog in'));
});
