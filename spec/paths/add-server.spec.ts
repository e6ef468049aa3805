import t from 'tap';
import type { EventObject } from 'xstate';
import { getSimplePaths } from 'xstate/graph';
import { type AddServerContext, addServerMachine } from '../../machines/mcp/add-server.machine.ts';

const done = (id: string, output: unknown): EventObject =>
  ({ type: `xstate.done.actor.${id}`, output }) as unknown as EventObject;
const events: readonly EventObject[] = [
  { type: 'link.confirm' },
  { type: 'link.cancel' },
  { type: 'link.rename', name: 'docs2' } as EventObject,
  { type: 'link.rename', name: '../x' } as EventObject,
  done('lookUpName', true),
  done('lookUpName', false),
  { type: 'xstate.error.actor.lookUpName', error: 'unreadable' } as EventObject,
  done('writeEntry', { kind: 'added' }),
  done('writeEntry', { kind: 'taken' }),
  done('writeEntry', { kind: 'failed', why: 'no YAML' }),
  { type: 'xstate.error.actor.writeEntry', error: 'read-only' } as EventObject,
];
const config = { url: 'https://mcp.example.com/mcp' };

interface Walk {
  readonly value: string;
  readonly context: AddServerContext;
  readonly told: readonly (EventObject & { readonly output?: unknown; readonly name?: string })[];
}

const walks: readonly Walk[] = getSimplePaths(addServerMachine, {
  input: { name: 'docs', config },
  events,
  limit: 20_000,
  serializeState: (state: { value: unknown; context: unknown }) => JSON.stringify([state.value, state.context]),
  stopWhen: (state: { status: string }) => state.status === 'done',
} as never).map(({ state, steps }) => ({
  value: String(state.value),
  context: (state as unknown as { context: AddServerContext }).context,
  told: steps.map(({ event }) => event as Walk['told'][number]).filter(({ type }) => type !== 'xstate.init'),
}));
const words = ({ told, value }: Walk): string => `${told.map(({ type }) => type).join(' ')} → ${value}`;

t.test('LNK-2 · every state is reached', (t) => {
  t.same(new Set(walks.map(({ value }) => value)), new Set(Object.keys(addServerMachine.config.states ?? {})));
  t.end();
});

t.test('LNK-2 · nothing is written before a yes to the name and config that were shown', (t) => {
  for (const walk of walks) {
    t.same(walk.context.config, config, words(walk));
    if (walk.value !== 'writing') continue;
    t.equal(walk.told.at(-1)?.type, 'link.confirm', words(walk));
    const looked = walk.told.filter(({ type }) => type.endsWith('.lookUpName')).at(-1);
    t.equal(looked?.output, false, `only a name that is free: ${words(walk)}`);
    const named = walk.told.filter(({ type, name }) => type === 'link.rename' && name !== '../x').at(-1)?.name;
    t.equal(walk.context.name, named ?? 'docs', words(walk));
  }
  t.end();
});

t.test('LNK-2 · a name that is taken, before or while it is written, asks for another or ends', (t) => {
  for (const walk of walks) {
    const last = walk.told.at(-1);
    const taken = last?.output === true || (last?.output as { kind?: string } | undefined)?.kind === 'taken';
    if (taken) t.equal(walk.value, 'renaming', words(walk));
    if (last?.name === '../x') t.equal(walk.value, 'renaming', words(walk));
    if (walk.value === 'renaming') t.ok(walk.context.why !== null, words(walk));
    if (walk.value === 'refused') t.ok((walk.context.why ?? '') !== '', words(walk));
    if (walk.value === 'added') t.match(last, { output: { kind: 'added' } }, words(walk));
  }
  t.end();
});
