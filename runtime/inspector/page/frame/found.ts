/**
 * Decides what the command palette shows for a typed text: actions first, then places and names. Independent of the page.
 * @see INS-2 in docs/specification.md
 */

import { getOrMake } from '../../../../machines/base/get-or-make.ts';

interface Choice {
  readonly group: string;
  readonly label: string;
}

const maxInGroup = 6;

/** Returns the choices with every word, by group; a label that begins with the words comes first in its group. */
export function foundChoices<One extends Choice>(choices: readonly One[], typed: string): readonly One[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, One[]>();
  for (const choice of choices) {
    const label = choice.label.toLowerCase();
    const own = getOrMake(groups, choice.group, () => []);
    if (words.every((word) => label.includes(word))) own.push(choice);
  }
  const rank = ({ label }: One): number => (label.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  return [...groups.values()].flatMap((own) => {
    const sorted = own.toSorted((one, other) => rank(one) - rank(other));
    return words.length === 0 ? sorted : sorted.slice(0, maxInGroup);
  });
}

/** Returns the label in parts; those at odd indexes match what was typed. */
export function markedLabel(label: string, typed: string): readonly string[] {
  const words = typed.split(/\s+/).filter(Boolean);
  if (words.length === 0) return [label];
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return label.split(new RegExp(`(${pattern})`, 'i'));
}
