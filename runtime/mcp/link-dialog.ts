/**
 * Runs the dialog of an add-server link for any surface, which shows each question and returns the answer.
 * @see LNK-2 and LNK-3 in docs/specification.md
 */

import { createActor, fromPromise } from 'xstate';
import { addServerEntry, hasServerEntry } from '../../actors/config/server-entries.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import {
  type AddServerContext,
  type AddServerEvent,
  type AddVerdict,
  addServerMachine,
} from '../../machines/mcp/add-server.machine.ts';
import type { InstallLink } from '../../machines/mcp/install-link.ts';

interface LinkSurface {
  /** Shows the current dialog and resolves with the person's choice. */
  ask(question: { readonly mustRename: boolean; readonly context: AddServerContext }): Promise<AddServerEvent>;
  /** Writes the entry in another way than into the home's files. */
  readonly write?: (confirmed: AddServerContext) => Promise<AddVerdict>;
}

type LinkOutcome =
  | { readonly kind: 'added'; readonly name: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'refused'; readonly why: string };

export function runLinkDialog(
  link: InstallLink,
  place: { readonly home: string; readonly profile: ProfileName },
  surface: LinkSurface,
): Promise<LinkOutcome> {
  const machine = addServerMachine.provide({
    actors: {
      lookUpName: fromPromise<boolean, string>(({ input }) => hasServerEntry({ ...place, name: input })),
      writeEntry: fromPromise<AddVerdict, AddServerContext>(async ({ input }) => {
        if (surface.write !== undefined) return surface.write(input);
        const change = await addServerEntry({ ...place, name: input.name }, input.config);
        switch (change.kind) {
          case 'changed':
            return { kind: 'added' };
          case 'taken':
            return { kind: 'taken' };
          case 'unwritable':
            return { kind: 'failed', why: change.why };
        }
      }),
    },
    actions: {
      show: ({ context, self }) => {
        const mustRename = context.why !== null;
        surface.ask({ mustRename, context }).then(
          (answer) => self.send(answer),
          () => self.send({ type: 'link.cancel' }),
        );
      },
    },
  });
  const actor = createActor(machine, { input: link });
  return new Promise((resolve) => {
    actor.subscribe({
      complete: () => {
        const { value, context } = actor.getSnapshot();
        if (value === 'added') resolve({ kind: 'added', name: context.name });
        else if (value === 'cancelled') resolve({ kind: 'cancelled' });
        else resolve({ kind: 'refused', why: context.why ?? '' });
      },
    });
    actor.start();
  });
}
