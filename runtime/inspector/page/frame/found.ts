/**
 * Decides what the command palette shows for what was typed: actions first, then places and names. Knows no page.
 * @see INS-2 in docs/specification.md
 */

/** What can be chosen, of any kind. */
export interface Choice {
  readonly group: string;
  readonly label: string;
}

const mostInGroup = 6;

/** Those that hold every word, in the order of their groups; a label that begins with the words comes first in its group. */
export function foundChoices<One extends Choice>(choices: readonly One[], typed: string): readonly One[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, One[]>();
  for (const choice of choices) {
    const label = choice.label.toLowerCase();
    const own = groups.get(choice.group) ?? [];
    groups.set(choice.group, own);
    if (!words.every((word) => label.includes(word))) continue;
    own.push(choice);
  }
  const rank = ({ label }: One): number => (label.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  return [...groups.values()].flatMap((own) => {
    const sorted = own.toSorted((one, other) => rank(one) - rank(other));
    return words.length === 0 ? sorted : sorted.slice(0, mostInGroup);
  });
}

/** The label in parts; those at odd places are what was typed. */
export function markedLabel(label: string, typed: string): readonly string[] {
  const words = typed.split(/\s+/).filter(Boolean);
  if (words.length === 0) return [label];
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return label.split(new RegExp(`(${pattern})`, 'i'));
}
