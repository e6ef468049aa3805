/**
 * The entries of the command palette besides the places: the actions of what is drawn, and its names.
 * @see INS-2 in docs/specification.md
 */

import { useEffect, useRef } from 'preact/hooks';
import type { IconName } from '../parts/icons.tsx';
import { createCell } from './cell.ts';

export interface Command {
  /** The same words as the button that does it. */
  readonly label: string;
  readonly icon: IconName;
  /** Shown at the right: the state of a named thing. */
  readonly hint?: string;
  /** It opens a dialog first. */
  readonly asks?: boolean;
  readonly run: () => void;
}

type CommandGroup = 'selection' | 'actions';

export const drawnCommands = createCell<
  readonly { readonly group: CommandGroup; readonly commands: readonly Command[] }[]
>([]);

/** Offers the commands while the component is drawn; the group `selection` is for what is chosen or opened. */
export function useCommands(group: CommandGroup, commands: readonly Command[]): void {
  const now = useRef(commands);
  now.current = commands;
  const names = commands.map(({ label, hint = '' }) => `${label} ${hint}`).join('\n');
  useEffect(() => {
    const mine = {
      group,
      commands: now.current.map((one, at) => ({ ...one, run: () => now.current[at]?.run() })),
    };
    drawnCommands.set([...drawnCommands.get(), mine]);
    return () => drawnCommands.set(drawnCommands.get().filter((one) => one !== mine));
  }, [group, names]);
}
