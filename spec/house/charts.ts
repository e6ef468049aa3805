/** The charts, for the specs that look at all of them and for their diagrams. */

import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { sourceFiles } from './sources.ts';

/** The name of a chart by the file that holds it: its words in camel case. */
export function chartName(path: string): string {
  const words = (path.split('/').at(-1) ?? '').replace('.machine.ts', '').split('-');
  return words.map((word, index) => (index === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`)).join('');
}

/** Each chart by the file that holds it. */
export const charts: ReadonlyMap<string, AnyStateMachine> = new Map(
  await Promise.all(
    sourceFiles(['machines'])
      .map(({ path }) => path)
      .filter((path) => path.endsWith('.machine.ts'))
      .sort()
      .map(async (path): Promise<[string, AnyStateMachine]> => {
        const exported: Record<string, unknown> = await import(`../../${path}`);
        const machine = exported[`${chartName(path)}Machine`];
        if (machine === undefined) throw new Error(`${path} exports no ${chartName(path)}Machine`);
        return [path, machine as AnyStateMachine];
      }),
  ),
);

/** Every state of a chart, the root left out, outer states first. */
export function statesOf(machine: AnyStateMachine): AnyStateNode[] {
  const below = (node: AnyStateNode): AnyStateNode[] =>
    Object.values(node.states).flatMap((child) => [child as AnyStateNode, ...below(child as AnyStateNode)]);
  return below((machine as unknown as { root: AnyStateNode }).root);
}

/** A state's name within its chart, outer states before it. */
export function nameOf(node: AnyStateNode): string {
  return node.path.join('.');
}

/** The diagram page of a chart: Mermaid, then its states with the rule that each keeps. */
export function diagramOf(file: string, machine: AnyStateMachine): string {
  const nodes = statesOf(machine);
  const root = (machine as unknown as { root: AnyStateNode }).root;
  const arrows = [root, ...nodes].flatMap((node) =>
    [...node.transitions.values(), node.always ?? []].flat().map((transition) => {
      const target = transition.target?.[0];
      const from = node === root ? '[*]' : idOf(node);
      const guard = transition.guard === undefined ? '' : ` [${guardName(transition.guard)}]`;
      return `  ${from} --> ${target === undefined ? from : idOf(target as AnyStateNode)} : ${eventName(transition.eventType)}${guard}`;
    }),
  );
  const initial = root.initial.target[0];
  const lines = [
    `# ${machine.id}`,
    '',
    `Generated from \`${file}\` by \`npm run diagrams\`.`,
    '',
    '```mermaid',
    'stateDiagram-v2',
    ...(initial === undefined ? [] : [`  [*] --> ${idOf(initial as AnyStateNode)}`]),
    ...nodes.filter((node) => node.parent !== root).map((node) => `  ${idOf(node)} : ${nameOf(node)}`),
    ...[...new Set(arrows)],
    ...nodes.filter(({ type }) => type === 'final').map((node) => `  ${idOf(node)} --> [*]`),
    '```',
    '',
    '| state | what it means | rule |',
    '| --- | --- | --- |',
    ...nodes.map(
      (node) =>
        `| \`${nameOf(node)}\` | ${node.description ?? ''} | ${(node.meta as { rule?: string } | undefined)?.rule ?? ''} |`,
    ),
    '',
  ];
  return lines.join('\n');
}

function idOf(node: AnyStateNode): string {
  return node.path.join('_');
}

function eventName(type: string): string {
  if (type === '') return 'always';
  const after = /^xstate\.after\.(\w+)\./.exec(type);
  if (after !== null) return `after ${after[1]}`;
  return type.replace(/^xstate\.(done|error)\.actor\.(\w+)$/, '$2 $1');
}

function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  return (guard as { type?: string; name?: string }).type ?? 'inline';
}
