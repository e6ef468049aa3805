/**
 * Several gateways on one journal, in a random order of steps: connections that break, sessions that end, gateways that are
 * killed. Charts, writer, keeper and recovery are the real ones.
 */

import t from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { createPlaces } from '../../../actors/dispatch/places.ts';
import { createRunAgent } from '../../../actors/dispatch/run-agent.ts';
import type { AgentRunner } from '../../../actors/ports.ts';
import type { Journal } from '../../../actors/store/journal.ts';
import { createKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { ChurnMap } from '../../../machines/base/churn-map.ts';
import { compile } from '../../../machines/base/compile.ts';
import { done, fault } from '../../../machines/base/fault.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { createPool, poolHandle } from '../../../machines/base/pool.ts';
import type { RunRecord } from '../../../machines/webhook/record.ts';
import { endLostRuns, recoverRuns } from '../../../runtime/dispatch/recovery.ts';
import { wireRun, writeHandOver } from '../../../runtime/dispatch/runs.ts';
import { createWorkPools } from '../../../runtime/system/work-pools.ts';
import { turn } from '../../support/keeper.ts';
import { fakePool } from '../../support/pools.ts';
import { fc, runs } from '../../support/property.ts';
import { plainRun } from '../../support/records.ts';
import { resumePorts } from '../../support/resuming.ts';

const away = fault('journal-unavailable', 'the connection broke');

/** A connection to a journal: what is asked is done, and answered, when the spec says so, in the order of the questions. */
function connectionTo(journal: Journal) {
  const asked: { readonly work: () => Promise<() => void>; readonly lost: () => void }[] = [];
  const answers: (() => void)[] = [];
  const queue = <Value>(work: () => Promise<Value>, lost: () => Value): Promise<Value> =>
    new Promise((resolve) => {
      asked.push({
        work: async () => {
          const value = await work();
          return () => resolve(value);
        },
        lost: () => resolve(lost()),
      });
    });
  const own: Journal = {
    ...journal,
    submit(writes, settled, rewrite) {
      void queue(
        () =>
          new Promise<Parameters<typeof settled>>((resolve) =>
            journal.submit(writes, (...all) => resolve(all), rewrite),
          ),
        (): Parameters<typeof settled> => [{ kind: 'unavailable', fault: away }, writes],
      ).then((all) => settled(...all));
    },
    take: (collection, query) =>
      queue(
        () => journal.take(collection, query),
        () => ({ ok: false, fault: away }),
      ),
  };
  return {
    journal: own,
    /** Does what was asked first; its answer is under way. */
    async do() {
      const answer = await asked.shift()?.work();
      if (answer !== undefined) answers.push(answer);
    },
    /** What was asked first is never done, or is done and its answer is lost. */
    async lose(isDone: boolean) {
      while (answers.length > 0) answers.shift()?.();
      const first = asked.shift();
      if (isDone) await first?.work();
      first?.lost();
    },
    answer: () => answers.shift()?.(),
    isQuiet: () => asked.length + answers.length === 0,
  };
}

let keys = 0;

async function startGateway(shared: Journal, owner: string, begun: string[]) {
  const connection = connectionTo(shared);
  const keeper = createKeeper({
    open: async () => done(connection.journal),
    owner,
    sessionTtlMs: 1e9,
    refused: () => {},
  });
  await keeper.open();
  const clock = new SimulatedClock();
  const writer = createRecordWriter(keeper);
  const working = new Set<() => void>();
  const waiting = new Set<() => void>();
  const run: AgentRunner = async ({ runId, attempt, handOver }, signal) => {
    if (signal.aborted) return { kind: 'failed', reason: 'stopped' };
    await handOver?.();
    if (signal.aborted) return { kind: 'failed', reason: 'stopped' };
    begun.push(`${runId} ${attempt}`);
    await new Promise<void>((resolve) => {
      working.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return signal.aborted ? { kind: 'failed', reason: 'stopped' } : { kind: 'responded', response: 'said' };
  };
  const log = { log: () => {}, warnOnce: () => {} };
  const nowMs = () => 9;
  const wait = (_: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) reject();
      waiting.add(resolve);
      signal.addEventListener('abort', reject, { once: true });
    });
  const none = fakePool();
  const ports = {
    keeper,
    writer,
    nowMs,
    nextOrder: () => 9,
    redact: (text: string) => text,
    crowded: () => true,
    left: () => {},
    pools: () => pools,
  };
  const work = wireRun({
    ...ports,
    places: createPlaces(4),
    routeLimit: () => Number.POSITIVE_INFINITY,
    isWithin: () => false,
    runEnds: new ChurnMap(),
    runAgent: createRunAgent({
      event: async (of) => (await shared.get('events', of))?.value,
      runnerOf: () => ({ run, timeoutMs: 1e9, servers: [], skill: () => undefined }),
      handOver: writeHandOver({ writer, nowMs }, wait),
      whileAsked: () => () => {},
      traceparentOf: () => undefined,
      log,
    }),
  });
  const pool = createPool({
    name: 'runs',
    logic: compile(work.logic),
    onDone: (of) => {
      work.release(of);
      writer.forget('runs', of);
    },
    onCrashed: (of, error) => {
      throw new Error(`${of}: ${error}`);
    },
  });
  const actor = createActor(pool as never, { clock } as never).start();
  const charts = poolHandle(actor as never);
  const pools = createWorkPools(
    { requests: none.handle(), groups: none.handle(), deliveries: none.handle(), runs: charts as never },
    nowMs,
    { began: (collection, of) => writer.begin(collection, of) },
  );
  const recovered: unknown[] = [];
  const resume = resumePorts(keeper, () => pools, {
    ...{ writer, nowMs },
    recovered: ({ key, from }) => void recovered.push([key, from]),
    bound: () => 100,
    room: () => 100 - charts.size,
    inMemory: () => ({ max: 200, share: 64, total: 0, queues: new Map() }),
  });
  let lookedAs = keeper.life();
  let isLooking = false;
  let isUnsure = false;
  const settleAll = (some: Set<() => void>): void => {
    for (const one of some) one();
    some.clear();
  };
  return {
    ...connection,
    keeper,
    recovered,
    async accept() {
      keys += 1;
      const of = `${owner}${keys}`;
      const record: RunRecord = { ...plainRun, status: 'queued', attempt: 0, eventKey: of, queuedAtMs: 1 };
      const event = { deliveryId: of, prompt: of, deliver: 'log', headers: {}, body: '' } as unknown as JsonObject;
      const session = keeper.session();
      if (session === undefined) return;
      const verdict = await keeper.commit([
        { kind: 'put', collection: 'events', key: of, value: event, expect: 'absent' },
        { kind: 'put', collection: 'runs', key: of, value: record, expect: 'absent', dueAtMs: 1, heldBy: session },
      ]);
      if (verdict.kind === 'committed') pools.open({ kind: 'run', key: of, record });
    },
    /** What it holds is not known any more. */
    disown() {
      isUnsure = true;
    },
    async beat() {
      if (isUnsure) await shared.endSession(keeper.session() ?? '');
      isUnsure = false;
      await keeper.beat();
      if (keeper.session() === undefined) await keeper.open();
    },
    async look() {
      if (isLooking) return;
      isLooking = true;
      await recoverRuns(resume);
      if (keeper.life() !== lookedAs) {
        await endLostRuns(resume);
        lookedAs = keeper.life();
      }
      isLooking = false;
    },
    endAgents: () => settleAll(working),
    pass() {
      settleAll(waiting);
      clock.increment(60_000);
    },
    stop: () => actor.stop(),
  };
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

const moves = [
  'accept',
  'do',
  'do',
  'do',
  'answer',
  'answer',
  'answer',
  'look',
  'beat',
  'endAgents',
  'pass',
  'end',
  'lost',
  'done',
  'kill',
] as const;

t.test('SCA-2 · SCA-3 · the work of a gateway that has ended is taken over, and noted as recovered', async (t) => {
  const { local: _, ...shared } = openMemoryJournal();
  const begun: string[] = [];
  const [one, other] = [await startGateway(shared, 'a', begun), await startGateway(shared, 'b', begun)];
  const session = one.keeper.session();
  void one.accept();
  void one.accept();
  await answered(one);
  await shared.endSession(session ?? '');
  void other.look();
  await answered(other);
  t.same(other.recovered, [
    ['a1', session],
    ['a2', session],
  ]);
  one.stop();
  other.stop();
});

async function settled(): Promise<void> {
  for (let n = 0; n < 4; n += 1) await turn();
}

async function answered(gateway: Gateway): Promise<void> {
  await settled();
  while (!gateway.isQuiet()) {
    await gateway.do();
    gateway.answer();
    await settled();
  }
}

t.test('SCA-2 · DUR-1 · whatever is cut off, no attempt has its prompt twice and every run ends', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(1), fc.constantFrom(...moves)), { minLength: 20, maxLength: 300 }),
      async (steps) => {
        const { local: _, ...shared } = openMemoryJournal();
        const begun: string[] = [];
        const gateways = [await startGateway(shared, 'a', begun), await startGateway(shared, 'b', begun)] as [
          Gateway,
          Gateway,
        ];
        for (const [nth, move] of steps) {
          const gateway = gateways[nth === 0 ? 0 : 1];
          if (move === 'end') {
            await shared.endSession(gateway.keeper.session() ?? '');
            await gateways[nth === 0 ? 1 : 0].keeper.beat();
          } else if (move === 'lost') await gateway.lose(false);
          else if (move === 'done') {
            await gateway.lose(true);
            gateway.disown();
          } else if (move === 'kill') {
            gateway.stop();
            gateways[nth === 0 ? 0 : 1] = await startGateway(shared, nth === 0 ? 'a' : 'b', begun);
          } else void gateway[move]();
          await settled();
        }
        for (let n = 0; n < 60; n += 1) {
          for (const gateway of gateways) {
            await gateway.beat();
            void gateway.look();
            await answered(gateway);
            gateway.pass();
            gateway.endAgents();
            await settled();
          }
        }
        const open = await shared.dueKeys('runs');
        for (const gateway of gateways) gateway.stop();
        const doubled = begun.filter((one, at) => begun.indexOf(one) !== at);
        if (doubled.length > 0) throw new Error(`twice: ${doubled}`);
        if (open.length > 0) throw new Error(`open: ${open}`);
      },
    ),
    { numRuns: runs(1_000) },
  );
  t.pass();
});
