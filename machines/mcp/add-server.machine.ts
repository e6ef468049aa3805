/**
 * The dialog of an add-server link: shows what would be added, waits for a person, never overwrites, and writes only after a
 * yes. Serves the terminal and the page.
 * @see LNK-2 and LNK-3 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, itself, itsOutput, promisePlaceholder } from '../base/declare.ts';
import type { JsonObject } from '../base/json.ts';
import { isName } from './install-link.ts';

interface AddServerInput {
  readonly name: string;
  /** As in the link; may contain secrets, which the terminal or page redacts. */
  readonly config: JsonObject;
}

export interface AddServerContext extends AddServerInput {
  /** Why the name has to change, or why nothing was written. */
  readonly why: string | null;
}

export type AddServerEvent =
  | { readonly type: 'link.confirm' }
  | { readonly type: 'link.rename'; readonly name: string }
  | { readonly type: 'link.cancel' };

export type AddVerdict =
  | { readonly kind: 'added' }
  | { readonly kind: 'taken' }
  | { readonly kind: 'failed'; readonly why: string };

/** Every answer but a yes. */
const otherAnswers = {
  'link.rename': [
    {
      guard: { type: 'isGoodName', params: itself<{ readonly name: string }> },
      target: 'lookingUp',
      actions: { type: 'rename', params: itself<{ readonly name: string }> },
    },
    { target: 'renaming', reenter: true, actions: 'rememberName' },
  ],
  'link.cancel': 'cancelled',
} as const;

const crashed = {
  target: 'refused',
  actions: {
    type: 'rememberWhy',
    params: ({ event }: { event: { error: unknown } }) => ({ why: String(event.error) }),
  },
} as const;

export const addServerMachine = setup({
  types: {
    input: {} as AddServerInput,
    context: {} as AddServerContext,
    events: {} as AddServerEvent,
    output: {} as AddServerContext,
  },
  actors: {
    lookUpName: promisePlaceholder<boolean, string>('lookUpName'),
    writeEntry: promisePlaceholder<AddVerdict, AddServerContext>('writeEntry'),
  },
  actions: {
    show: effect('show'),
    rename: assign((_, params: { name: string }) => ({ name: params.name, why: null })),
    rememberTaken: assign(({ context }) => ({
      why: `a server named "${context.name}" exists already; choose another name`,
    })),
    rememberName: assign({ why: 'a name has 1 to 64 letters, digits, ".", "_" and "-", and not only dots' }),
    rememberWhy: assign((_, params: { why: string }) => ({ why: params.why })),
  },
  guards: {
    isTaken: (_, taken: boolean) => taken,
    isGoodName: (_, params: { name: string }) => isName(params.name),
    isAdded: (_, verdict: AddVerdict) => verdict.kind === 'added',
    nameWasTaken: (_, verdict: AddVerdict) => verdict.kind === 'taken',
  },
}).createMachine({
  id: 'addServer',
  context: ({ input }) => ({ ...input, why: null }),
  initial: 'lookingUp',
  output: ({ context }) => context,
  states: {
    lookingUp: {
      description: 'Sees whether the name is taken.',
      meta: { rule: 'LNK-2' },
      tags: ['working'],
      invoke: {
        id: 'lookUpName',
        src: 'lookUpName',
        input: ({ context }) => context.name,
        onDone: [
          { guard: { type: 'isTaken', params: itsOutput }, target: 'renaming', actions: 'rememberTaken' },
          { target: 'asking' },
        ],
        onError: crashed,
      },
      on: { 'link.cancel': 'cancelled' },
    },
    asking: {
      description: 'A person reads the name and the complete config and decides.',
      meta: { rule: 'LNK-2' },
      tags: ['needsUser'],
      entry: 'show',
      on: { 'link.confirm': 'writing', ...otherAnswers },
    },
    renaming: {
      description: 'The name is taken or invalid: a person chooses another one, or cancels.',
      meta: { rule: 'LNK-2' },
      tags: ['needsUser'],
      entry: 'show',
      on: otherAnswers,
    },
    writing: {
      description: 'Writes the entry, unless the name was taken meanwhile.',
      meta: { rule: 'LNK-2' },
      tags: ['working'],
      invoke: {
        id: 'writeEntry',
        src: 'writeEntry',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isAdded', params: itsOutput }, target: 'added' },
          { guard: { type: 'nameWasTaken', params: itsOutput }, target: 'renaming', actions: 'rememberTaken' },
          { target: 'refused', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: crashed,
      },
    },
    added: {
      description: 'The server is in the configuration.',
      meta: { rule: 'LNK-2' },
      tags: ['ended'],
      type: 'final',
    },
    cancelled: {
      description: 'A person said no; nothing was written.',
      meta: { rule: 'LNK-2' },
      tags: ['ended'],
      type: 'final',
    },
    refused: {
      description: 'The configuration could not be read or written; nothing was added.',
      meta: { rule: 'LNK-2' },
      tags: ['ended', 'failed'],
      type: 'final',
    },
  },
});

function whyOf(verdict: AddVerdict): { why: string } {
  return { why: verdict.kind === 'failed' ? verdict.why : '' };
}
