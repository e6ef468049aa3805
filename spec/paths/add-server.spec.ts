import t from 'tap';
import type { EventObject } from 'xstate';
import { type AddServerContext, addServerMachine } from '../../machines/mcp/add-server.machine.ts';
import { doneBy, failedBy, walksOf, wordsOfWalk as words } from '../support/walks.ts';

const events: readonly EventObject[] = [
  { type: 'link.confirm' },
  { type: 'link.cancel' },
  { type: 'link.rename', name: 'docs2' } as EventObject,
  { type: 'link.rename', name: '../x' } as EventObject,
  doneBy('lookUpName', true),
  doneBy('lookUpName', false),
  failedBy('lookUpName'),
  doneBy('writeEntry', { kind: 'added' }),
  doneBy('writeEntry', { kind: 'taken' }),
  doneBy('writeEntry', { kind: 'failed', why: 'no YAML' }),
  failedBy('writeEntry'),
];
const config = { url: 'https://mcp.example.com/mcp' };

const walks = walksOf<AddServerContext, { readonly output?: unknown; readonly name?: string }>(addServerMachine, {
  input: { name: 'docs', config },
  events,
  limit: 20_000,
});

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
