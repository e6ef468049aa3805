import t from 'tap';
import type { SchemaCache } from '../../../actors/mcp/schema-cache.store.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { absentPool } from '../../../machines/base/pool.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import type { ConnectionInput } from '../../../machines/mcp/server-connection.machine.ts';
import { createReconcile } from '../../../runtime/mcp/reconcile.ts';
import { createRegistry, type Registry } from '../../../runtime/mcp/registry.ts';
import { createRespawns } from '../../../runtime/system/respawns.ts';
import { fakePool } from '../../support/pools.ts';
import { turn } from '../../support/turns.ts';

interface Given {
  readonly [name: string]: JsonObject & { readonly problem?: string };
}

const log = { log: () => {}, warnOnce: () => {} };
const tools = [{ name: 'one' }];

function stage(first: Given, remembered: readonly string[] = []) {
  let config: Readonly<Record<string, Given>> = { default: first };
  const pool = fakePool<ConnectionInput>();
  let steadyMs = 0;
  const waits: { readonly callback: () => void; readonly waitMs: number }[] = [];
  const registries = new Map<string, Registry>();
  const registry = (profile: string): Registry => {
    const standing = registries.get(profile) ?? createRegistry(log);
    registries.set(profile, standing);
    return standing;
  };
  const cache: SchemaCache = {
    read: ({ name, transport }) =>
      remembered.includes(name) && transport.kind === 'stdio' && transport.command === 'x'
        ? { fingerprint: '', savedAtMs: 0, tools, capabilities: {} }
        : undefined,
    write: () => Promise.resolve(),
    remove: () => Promise.resolve(),
  };
  const retired: string[] = [];
  const removed: string[] = [];
  const closed = { count: 0 };
  const applied = { count: 0 };
  const pools = { live: true };
  const reconcile = createReconcile({
    entries: () =>
      Object.entries(config).map(([profile, servers]) => ({
        profile,
        servers: Object.entries(servers).map(([name, { problem, ...entry }]) => ({
          ...normaliseServerEntry(name, entry as never),
          ...(problem === undefined ? {} : { problem }),
        })) as never,
      })),
    pool: () => (pools.live ? pool.handle() : absentPool('connections')),
    registry,
    cache: () => cache,
    retired: (key: string, how: string) => void retired.push(`${key} ${how}`),
    removed: (profile, server) => void removed.push(`${profile}/${server}`),
    applied: () => {
      applied.count += 1;
    },
    closeSessions: () => {
      closed.count += 1;
      return Promise.resolve();
    },
    respawns: createRespawns({
      steadyMs: () => steadyMs,
      random: () => 0,
      wake: (callback, waitMs) => {
        waits.push({ callback, waitMs });
        return () => {
          waits.length = 0;
        };
      },
    }),
    nowMs: () => 0,
  });
  return {
    reconcile,
    retired,
    removed,
    applied,
    closed,
    pools,
    pool,
    registry,
    /** Takes over another configuration. */
    change(next: Given, others: Readonly<Record<string, Given>> = {}) {
      config = { default: next, ...others };
      reconcile.run();
    },
    /** The connection does what it is told, and ends. */
    end(key: string) {
      pool.end(key);
      reconcile.ended(key);
    },
    /** Its chart crashes; returns how long it is waited for, if it is. */
    crash(key: string): number | undefined {
      pool.end(key);
      reconcile.crashed(key, new Error('a flaw'));
      return waits[0]?.waitMs;
    },
    /** The wait is over. */
    waited(): void {
      const [due] = waits.splice(0);
      steadyMs += due?.waitMs ?? 0;
      due?.callback();
    },
    heard: () => pool.spawned.map(({ key, heard }) => [key, ...heard.map(({ type }) => type)].join(' ')),
  };
}

t.test('LIF-12 · what is kept of a removed server is dropped once its connection has ended, however it ends', (t) => {
  const { reconcile, removed, change, end, crash } = stage({
    a: { command: 'x' },
    b: { command: 'x' },
    c: { command: 'x' },
  });
  reconcile.run();
  crash('c');
  change({ b: { command: 'other' } });
  t.same(removed, ['default/c'], 'it has no connection; the others are still being closed');
  end('a');
  end('b');
  t.same(removed, ['default/c', 'default/a'], 'a changed one stays');

  change({});
  change({ b: { command: 'x' } });
  end('b');
  t.same(removed.length, 2, 'one that is back stays');
  change({});
  crash('b');
  t.same(removed.slice(2), ['default/b']);
  change({});
  t.equal(removed.length, 3, 'once');
  t.end();
});

t.test('LIF-1 · LIF-2 · LIF-6 · CFG-3 · each entry begins where it says', (t) => {
  const { reconcile, pool, registry } = stage(
    {
      usual: { command: 'x' },
      off: { command: 'x', enabled: false },
      broken: { command: 'x', problem: 'config.yaml:3:1: it has both' },
      lazy: { command: 'x', lazy: true },
      forgotten: { command: 'x', lazy: true },
      remote: { url: 'http://127.0.0.1/mcp' },
    },
    ['lazy', 'usual'],
  );
  reconcile.run();
  t.same(
    pool.spawned.map(({ key, input }) => [key, input.begin, input.tools]),
    [
      ['usual', 'connecting', 0],
      ['off', 'disabled', 0],
      ['broken', 'failed', 0],
      ['lazy', 'lazy', 1],
      ['forgotten', 'connecting', 0],
      ['remote', 'connecting', 0],
    ],
  );
  const known = registry('default').all();
  t.same(
    known.map(({ name }) => name),
    ['mcp__usual__one', 'mcp__lazy__one'],
    'LIF-7 · programs that list once, while it connects, get the tools of its last listing',
  );
  t.equal(pool.spawned[2]?.input.why, 'config.yaml:3:1: it has both');
  t.same([pool.spawned[0]?.input.keepaliveMs, pool.spawned[5]?.input.keepaliveMs], [0, 180_000], 'LIF-4');
  t.end();
});

t.test('NAM-2 · of servers whose tools would be named alike, the first configured keeps the name', (t) => {
  const lazy = { command: 'x', lazy: true };
  const { change, registry } = stage({}, ['a-b', 'a_b']);
  for (const names of [
    ['a-b', 'a_b'],
    ['a_b', 'a-b'],
  ]) {
    change(Object.fromEntries(names.map((name) => [name, lazy])));
    t.equal(registry('default').find('mcp__a_b__one')?.server, names[0]);
  }
  t.end();
});

t.test('LIF-12 · a change connects what was added, retires what was removed, restarts what changed', (t) => {
  const { change, end, heard, reconcile, retired } = stage({
    same: { command: 'x' },
    changes: { command: 'x' },
    goes: { command: 'x' },
  });
  reconcile.run();
  change({ same: { command: 'x' }, changes: { command: 'y' }, comes: { command: 'x' } });
  t.same(heard(), ['same', 'changes server.stop', 'goes server.stop', 'comes']);
  t.same(retired, ['changes changed', 'goes removed'], 'TRU-3 · what waits for the old entry hears of it');
  end('goes');
  end('changes');
  t.same(heard(), ['same', 'changes server.stop', 'goes server.stop', 'comes', 'changes']);
  const settings = reconcile.settings('default', 'same');
  change({ same: { command: 'x' }, changes: { command: 'y' }, comes: { command: 'x' } });
  t.equal(reconcile.settings('default', 'same'), settings, 'what is known of its settings is still known');
  t.equal(heard().length, 5, 'the same again changes nothing');
  t.end();
});

t.test('LIF-12 · a second change while the first one still closes leads to the last word', (t) => {
  const { change, end, pool, reconcile } = stage({ s: { command: 'one' } });
  reconcile.run();
  change({ s: { command: 'two' } });
  change({ s: { command: 'three' } });
  end('s');
  t.equal(pool.spawned.length, 2);
  t.match(reconcile.settings('default', 's')?.transport, { command: 'three' });
  change({});
  end('s');
  t.equal(pool.spawned.length, 2, 'what is gone does not come back');
  t.equal(reconcile.settings('default', 's'), undefined);
  t.end();
});

t.test('LIF-12 · tools that were listed by another command are forgotten; a changed filter applies at once', (t) => {
  const { change, registry, reconcile } = stage({ s: { command: 'x', lazy: true } }, ['s']);
  reconcile.run();
  t.equal(registry('default').all().length, 1);
  change({ s: { command: 'x', tools: { exclude: 'one' } } });
  t.equal(registry('default').all().length, 0);
  change({ s: { command: 'x' } });
  t.equal(registry('default').all().length, 1);
  change({ s: { command: 'y', lazy: true } });
  t.equal(registry('default').all().length, 0);
  t.end();
});

t.test('OAU-9 · PRF-2 · a server of one name in two profiles is two connections', (t) => {
  const { change, pool, reconcile } = stage({});
  change({ s: { command: 'x' } }, { work: { s: { command: 'y' } } });
  t.same(
    pool.spawned.map(({ key, input }) => [key, input.profile, input.server]),
    [
      ['s', 'default', 's'],
      ['s@work', 'work', 's'],
    ],
  );
  t.match(reconcile.settings('work', 's')?.transport, { command: 'y' });
  t.end();
});

t.test('LIF-12 · PRF-2 · a profile that is not served any more has no tools', (t) => {
  const { change, pool, registry } = stage({}, ['s']);
  change({}, { work: { s: { command: 'x', lazy: true } } });
  t.equal(registry('work').all().length, 1);
  change({});
  t.equal(registry('work').all().length, 0);
  t.same(pool.spawned[0]?.heard, [{ type: 'server.stop', why: 'its entry was removed' }]);
  t.end();
});

t.test('LIF-12 · a connection that crashed comes back with its entry', (t) => {
  const { end, pool, reconcile } = stage({ s: { command: 'x' } });
  reconcile.run();
  end('s');
  t.equal(pool.spawned.length, 2);
  t.end();
});

t.test('LIF-9 · the end waits for every connection, and none is spawned any more', async (t) => {
  const { change, end, heard, reconcile, closed } = stage({ a: { command: 'x' }, b: { command: 'x' } });
  reconcile.run();
  let over = false;
  const ending = reconcile.retireAll().then(() => {
    over = true;
  });
  t.same(heard(), ['a server.stop', 'b server.stop']);
  end('a');
  await turn();
  t.equal(over, false);
  change({ a: { command: 'x' }, b: { command: 'x' }, c: { command: 'x' } });
  end('b');
  await ending;
  t.equal(heard().length, 2);
  t.equal(closed.count, 1, 'and a session whose chart crashed');

  const none = stage({});
  await none.reconcile.retireAll();
  t.equal(none.closed.count, 1);
  const gone = stage({ a: { command: 'x' } });
  gone.reconcile.run();
  gone.pools.live = false;
  await gone.reconcile.retireAll();
  t.equal(gone.closed.count, 1, 'a pool that is gone is not waited for');
});

t.test('LIF-9 · INS-1 · a connection whose chart crashes while the daemon stops is not waited for', async (t) => {
  const { crash, reconcile, pool, closed } = stage({ a: { command: 'x' } });
  reconcile.run();
  const ending = reconcile.retireAll();
  t.same(pool.living('a')?.heard, [{ type: 'server.stop', why: 'the gateway stops' }]);
  crash('a');
  await ending;
  t.same([pool.spawned.length, closed.count], [1, 1], 'and does not come again');
});

t.test('LIF-5 · LIF-8 · CFG-3 · what an entry says of its connection reaches the chart, from memory too', (t) => {
  const life = {
    idle_timeout_seconds: 60,
    max_lifetime_seconds: 120,
    circuit_breaker: { failures: 3, reset_seconds: 9 },
  };
  const { reconcile, pool, change, end, applied } = stage(
    { plain: { command: 'x', ...life }, lazy: { command: 'x', ...life, lazy: true, approvals: [{ tool: 'one' }] } },
    ['lazy'],
  );
  reconcile.run();
  for (const { input } of pool.spawned) {
    t.match(input, {
      profile: 'default',
      transport: 'stdio',
      idleTimeoutMs: 60_000,
      maxLifetimeMs: 120_000,
      breakerLimits: { failures: 3, resetMs: 9_000 },
    });
  }
  t.same(reconcile.keys(), ['plain', 'lazy'], 'in the order of the configuration');
  t.same([reconcile.rules('default', 'plain'), reconcile.rules('default', 'none')], [[], []]);
  t.match(reconcile.rules('default', 'lazy'), [{ tool: 'one' }]);
  t.equal(applied.count, 1);

  change({ plain: { command: 'x', ...life, problem: 'config.yaml:3:1: one' } });
  end('plain');
  change({ plain: { command: 'x', ...life, problem: 'config.yaml:4:1: the same, on another line' } });
  end('plain');
  t.match(pool.living('plain')?.input, { begin: 'failed', why: /^config\.yaml:4:1/ });
  t.end();
});

t.test('INS-1 · a connection whose chart crashes comes again after waits that grow, and then stands as failed', (t) => {
  const { change, crash, end, waited, reconcile, pool } = stage({ s: { command: 'x' } });
  reconcile.run();
  const waits: unknown[] = [];
  for (let crashes = 1; crashes <= 5; crashes += 1) {
    waits.push(crash('s'));
    reconcile.run();
    t.equal(pool.living('s'), undefined, 'a reload does not shorten the wait');
    waited();
    t.equal(pool.living('s')?.input.begin, 'connecting');
  }
  t.same(waits, [200, 400, 800, 1_600, 3_200]);

  t.equal(crash('s'), undefined);

  t.match(pool.living('s')?.input, { begin: 'failed', why: /"s": it crashed in the gateway again and again: a flaw;/ });
  crash('s');
  t.equal(pool.living('s'), undefined, 'one that crashes even so is left alone');
  reconcile.run();
  t.equal(pool.living('s')?.input.begin, 'connecting', 'until a person asks again');
  t.equal(crash('s'), 200);
  change({ s: { command: 'y' } });
  t.equal(pool.living('s')?.input.begin, 'connecting', 'another entry has crashed nothing yet');
  change({});
  end('s');
  crash('s');
  t.equal(pool.living('s'), undefined);
  t.end();
});
