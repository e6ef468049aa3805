import t from 'tap';
import { type AnyStateMachine, assign, type EventObject } from 'xstate';
import {
  type CallContext,
  type CallEvent,
  type CallInput,
  type CallVerdict,
  type Resolution,
  toolCallMachine,
} from '../../machines/mcp/tool-call.machine.ts';
import { type Walk, walksOf } from '../support/walks.ts';

type Kind = { readonly readOnly: boolean; readonly asks: boolean; readonly reached?: boolean };

const input: CallInput = { id: '1', profile: 'default', name: 'mcp__s__t', caller: 'cli' };
const refused: Resolution = { kind: 'refused', fault: { code: 'unknown_tool', message: 'no such tool' } };

function machineOf(resolution: Resolution): AnyStateMachine {
  return toolCallMachine.provide({
    actions: {
      resolveTool: assign<CallContext, CallEvent, unknown, CallEvent, never>(({ context }) => {
        if (resolution.kind === 'refused') return { fault: resolution.fault };
        return resolution.kind === 'found'
          ? { ...resolution, reached: context.reached || resolution.reached }
          : resolution;
      }),
    },
  }) as unknown as AnyStateMachine;
}

const found = ({ readOnly, asks, reached = false }: Kind): Resolution => ({
  kind: 'found',
  server: 's',
  tool: 't',
  readOnly,
  asks,
  reached,
  reachMs: 1_000,
});

const answered: CallVerdict = { kind: 'answered' };
const failed: CallVerdict = { kind: 'failed', fault: { code: 'timed_out', message: 'slow' } };
const lostUnsent: CallVerdict = { kind: 'lost', dispatched: false, why: 'gone' };
const lostSent: CallVerdict = { kind: 'lost', dispatched: true, why: 'gone' };
const unclear: CallVerdict = { kind: 'unclear', why: 'it answered HTTP 500' };
const outdated: CallVerdict = { kind: 'outdated' };
const verdict = (output: CallVerdict): EventObject => ({ type: 'call.answered', verdict: output }) as EventObject;

const events: readonly EventObject[] = [
  { type: 'approval.settled', verdict: 'approved' } as EventObject,
  { type: 'approval.settled', verdict: 'denied' } as EventObject,
  { type: 'approval.settled', verdict: 'timedOut' } as EventObject,
  { type: 'server.reached' },
  { type: 'server.unreachable', why: 'parked' } as EventObject,
  { type: 'call.cancel' },
  { type: 'server.retired', how: 'changed' } as EventObject,
  { type: 'xstate.after.reachLimit.toolCall.reaching' },
  ...[answered, failed, outdated, lostUnsent, lostSent, unclear].map(verdict),
];

type CallWalk = Walk<CallContext, object>;

/** Every way through the chart that visits no state twice. */
function walks(kind: Kind): readonly CallWalk[] {
  return walksOf(machineOf(found(kind)), { input, events, limit: 20_000 });
}

const kinds: readonly Kind[] = [
  { readOnly: false, asks: false },
  { readOnly: false, asks: true },
  { readOnly: true, asks: false },
  { readOnly: false, asks: true, reached: true },
  { readOnly: false, asks: false, reached: true },
];
const all = kinds.flatMap((kind) => walks(kind));
/** An answer that is of no use had left too. */
const isLost = (event: EventObject, dispatched: boolean): boolean => {
  const { verdict } = event as { verdict?: CallVerdict };
  return verdict?.kind === 'unclear' ? dispatched : verdict?.kind === 'lost' && verdict.dispatched === dispatched;
};
const words = ({ told, value }: CallWalk): string => `${JSON.stringify(told)} → ${value}`;

t.test('TRU-1 · TRU-2 · every state is reached that is not passed through', (t) => {
  const reached = new Set(all.map(({ value }) => value));
  t.same([...reached].sort(), ['approving', 'calling', 'reaching', 'settled']);
  t.same(
    walksOf(machineOf(refused), { input, events, limit: 100 }).map(({ value }) => value),
    ['settled'],
    'what cannot be found is settled at once, and nobody is asked',
  );
  t.end();
});

t.test('TRU-1 · no way leads to the server before a person approved the call that asks', (t) => {
  const asking = [false, true].flatMap((reached) => walks({ readOnly: false, asks: true, reached }));
  for (const walk of asking) {
    const [first] = walk.told;
    if (walk.value === 'calling' || walk.value === 'reaching' || walk.context.tries > 0) {
      t.match(first, { type: 'approval.settled', verdict: 'approved' }, words(walk));
    }
    if (first?.type === 'approval.settled' && (first as { verdict?: string }).verdict !== 'approved') {
      t.equal(walk.value, 'settled', words(walk));
      t.equal(walk.context.tries, 0, words(walk));
      t.match(walk.context.fault?.code, /^approval_(denied|timed_out)$/, words(walk));
    }
  }
  t.ok(asking.some(({ value }) => value === 'calling'));
  t.end();
});

t.test('TRU-2 · nothing is sent again once a call that may have changed something was dispatched', (t) => {
  for (const kind of kinds.filter(({ readOnly }) => !readOnly)) {
    for (const walk of walks(kind)) {
      const at = walk.told.findIndex((event) => isLost(event, true));
      if (at === -1) continue;
      t.equal(at, walk.told.length - 1, words(walk));
      t.equal(walk.value, 'settled', words(walk));
      t.equal(walk.context.fault?.code, 'outcome_uncertain', words(walk));
    }
  }
  t.end();
});

t.test('TRU-2 · a call that only reads is replayed at most once', (t) => {
  const reading = walks({ readOnly: true, asks: false });
  let replayed = 0;
  for (const walk of reading) {
    const dispatched = walk.told.filter((event) => isLost(event, true)).length;
    t.ok(dispatched <= 2, words(walk));
    if (dispatched === 2) {
      replayed += 1;
      t.equal(walk.value, 'settled', words(walk));
      // Whether the last answer was of no use or did not come.
      t.match(walk.context.fault?.code, /^(outcome_uncertain|server_unavailable)$/, words(walk));
    }
    t.equal(walk.context.replayed, dispatched > 0 && walk.told.length > 0 && !endsUncertain(walk, 1), words(walk));
  }
  t.ok(replayed > 0);
  t.end();
});

t.test('TRU-2 · a call that never left is given to a session three times at most', (t) => {
  for (const walk of all) {
    t.ok(walk.context.tries <= 3, words(walk));
    const unsent = walk.told.filter((event) => isLost(event, false)).length;
    if (unsent === 3) {
      t.equal(walk.value, 'settled', words(walk));
      t.equal(walk.context.fault?.code, 'server_unavailable', words(walk));
    }
  }
  t.ok(all.some(({ context }) => context.tries === 3));
  t.end();
});

t.test('LIF-7 · LIF-13 · a settled call has the answer or a reason, never neither', (t) => {
  for (const walk of all.filter(({ value }) => value === 'settled')) {
    const last = walk.told.at(-1) as { verdict?: CallVerdict };
    t.equal(walk.context.fault === null, last.verdict?.kind === 'answered', words(walk));
    if (walk.context.fault !== null) t.not(walk.context.fault.message, '', words(walk));
  }
  t.end();
});

/** Reports whether the first loss ended the call, because it had no try left. */
function endsUncertain({ told, value, context }: CallWalk, losses: number): boolean {
  const dispatched = told.filter((event) => isLost(event, true)).length;
  return (
    dispatched === losses && value === 'settled' && context.tries === 3 && isLost(told.at(-1) as EventObject, true)
  );
}
