/**
 * The actors of another gateway of the database: their tree as that gateway returns it, and the state and context of the
 * chosen one. They are read repeatedly; their charts and transitions are on that gateway's own page.
 * @see SCA-3 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import type { ActorNode } from '../../../control/contract/actors.ts';
import type { LivingRow } from '../../../control/contract/wire.ts';
import { useCell } from '../data/cell.ts';
import { formatState } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import { nodes } from '../data/live.ts';
import { go } from '../data/place.ts';
import { call, useAsked } from '../data/rpc.ts';
import { standingOf } from '../data/standing.ts';
import { countActors, everything, treeLines } from '../data/tree.ts';
import { useAgain } from '../data/use-nodes.ts';
import { BareSelect } from '../parts/bare-select.tsx';
import { Chip } from '../parts/chip.tsx';
import { JsonCode } from '../parts/code.tsx';
import { Head } from '../parts/head.tsx';
import { Headline, MetaTime, Why } from '../parts/headline.tsx';
import { Answer, Empty } from '../parts/panel.tsx';
import { Split } from '../parts/split.tsx';
import { ActorTree, useFolded } from './actor-tree.tsx';

export function ActorsElsewhere({ place: { chosen, query } }: { readonly place: Place }): JSX.Element {
  const node = query.node ?? '';
  const asking = useAsked(`tree ${node}`, () => call('inspect.tree', { node }));
  useAgain(asking);
  const { asked, again } = asking;
  const tree = useFolded();
  const { rows, more } = flat(asked.kind === 'there' ? asked.value : undefined);
  const lines = treeLines(rows, everything, { folded: tree.folded, nowMs: Date.now() });
  const open = (id: string): void => go('actors', id, query);
  return (
    <>
      <Head title="Actors" count={`${countActors(rows.values()).toLocaleString('en')} live`}>
        <NodeChoice node={node} />
      </Head>
      <Split
        middle
        label={`Tree of ${node}`}
        opened={chosen !== ''}
        back="All actors"
        onBack={() => open('')}
        list={
          <Answer asked={asked} again={again} what={`The actors of ${node}`}>
            {() => <ActorTree label={`Living actors of ${node}`} {...{ lines, chosen, more, open }} fold={tree.fold} />}
          </Answer>
        }
      >
        {chosen === '' ? (
          <Empty title="Choose an actor">
            Its state and its context on {node} are shown here; its chart is on the page of that gateway.
          </Empty>
        ) : (
          <Shown key={chosen} id={chosen} node={node} />
        )}
      </Split>
    </>
  );
}

/** The choice of the gateway whose actors are shown; empty if there is only one. */
export function NodeChoice({ node }: { readonly node: string }): JSX.Element | null {
  const count = useCell(nodes) ?? 1;
  const { asked } = useAsked(`nodes ${count}`, async () => (count > 1 ? call('gateway.nodes') : []));
  const others = asked.kind === 'there' ? asked.value.filter(({ self }) => !self).map((row) => row.node) : [];
  if (others.length === 0 && node === '') return null;
  const names = [...new Set([...others, ...(node === '' ? [] : [node])])];
  return (
    <BareSelect
      label="Gateway"
      class="btn"
      value={node}
      options={[['', 'This gateway'], ...names.map((name) => [name, name] as const)]}
      onChoose={(next) => go('actors', '', { node: next })}
    />
  );
}

function Shown({ id, node }: { readonly id: string; readonly node: string }): JSX.Element {
  const asking = useAsked(`${node} ${id}`, () => call('inspect.show', { actor: id, node }));
  useAgain(asking);
  return (
    <Answer {...asking} what="The actor">
      {({ machine, state, since, tags, why, context }) => {
        const standing = standingOf({ state, tags });
        return (
          <section class="stack" aria-label={`Actor ${id}`}>
            <Headline
              title={id.split('/').join(' / ')}
              chip={<Chip standing={standing} text={formatState(state)} />}
              meta={
                <>
                  <span>Machine {machine}</span>
                  <MetaTime name="Since" at={since} />
                </>
              }
            />
            <Why standing={standing} why={why} />
            <div class="panel">
              <JsonCode value={context} label="Context, without secrets" />
            </div>
          </section>
        );
      }}
    </Answer>
  );
}

/** Returns the rows of a tree, and how many children of each pool are not among them. */
function flat(tree: ActorNode | undefined): {
  readonly rows: ReadonlyMap<string, LivingRow>;
  readonly more: Readonly<Record<string, number>>;
} {
  const rows = new Map<string, LivingRow>();
  const more: Record<string, number> = {};
  const visit = (node: ActorNode, parent: string | null): void => {
    const { id, machine, state, since, children } = node;
    const size = children.length + (node.more ?? 0);
    const meta = machine.endsWith('Pool') ? { meta: { size } } : {};
    rows.set(id, { id, parent, machine, state, since: Date.parse(since), tags: [], ...meta });
    if (node.more !== undefined) more[id] = node.more;
    for (const child of children) visit(child, id);
  };
  if (tree !== undefined) visit(tree, null);
  return { rows, more };
}
