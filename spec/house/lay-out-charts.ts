/**
 * Lays the machines' charts out when the page is built, so that the page itself holds no layout engine.
 * @see INS-2 in docs/specification.md
 * @see [ELK layered](https://eclipse.dev/elk/reference/algorithms/org-eclipse-elk-layered.html)
 */

import Engine, { type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import type { Chart, ChartState } from '../../runtime/control/contract/wire.ts';
import { type Drawing, type DrawnBox, wordLine } from '../../runtime/inspector/page/data/chart-graph.ts';
import { formatState, formatWord } from '../../runtime/inspector/page/data/format.ts';
import { formatTransition, type Graph, graphOf, wordLetter } from './chart-graph.ts';

interface Point {
  readonly x: number;
  readonly y: number;
}

const layoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.spacing.nodeNode': '26',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '30',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
  // States are written in the order they happen: arrows against it are the ones that go back.
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.edgeLabels.sideSelection': 'ALWAYS_UP',
  'elk.padding': '[top=12,left=12,bottom=12,right=12]',
};
const groupOptions = { 'elk.padding': '[top=34,left=14,bottom=14,right=14]' };
const startSize = 8;
const cornerRadius = 6;

/** Lays a chart out. */
export async function layOut(chart: Chart): Promise<Drawing> {
  const graph = graphOf(chart);
  return drawn(chart, graph, await new Engine.default().layout(elkGraph(graph)));
}

function elkGraph({ boxes, arrows, initials }: Graph): ElkNode {
  const groups = new Set(boxes.map(({ parent }) => parent));
  const nodesIn = (parent: string | null): ElkNode[] => [
    ...initials
      .filter((id) => (boxes.find((box) => box.id === id)?.parent ?? null) === parent)
      .map((id) => ({ id: startId(id), width: startSize, height: startSize })),
    ...boxes
      .filter((box) => box.parent === parent)
      .map((box) => ({
        id: box.id,
        ...(groups.has(box.id)
          ? { layoutOptions: groupOptions, children: nodesIn(box.id) }
          : { width: box.width, height: box.height }),
      })),
  ];
  return {
    id: 'chart',
    layoutOptions,
    children: nodesIn(null),
    edges: [
      ...initials.map((id) => ({ id: startId(id), sources: [startId(id)], targets: [id] })),
      ...arrows.map((arrow) => ({
        id: arrow.id,
        sources: [arrow.from],
        targets: [arrow.to],
        ...(arrow.words.length === 0
          ? {}
          : {
              labels: [
                {
                  text: arrow.words.join('\n'),
                  width: Math.max(...arrow.words.map((word) => word.length)) * wordLetter + 6,
                  height: arrow.words.length * wordLine,
                },
              ],
            }),
      })),
    ],
  };
}

function drawn(chart: Chart, graph: Graph, laid: ElkNode): Drawing {
  const boxes: DrawnBox[] = [];
  const starts: { id: string; x: number; y: number }[] = [];
  const places = new Map<string, Point>([['chart', { x: 0, y: 0 }]]);
  const states = new Map(chart.states.map((state) => [state.id, state]));
  const visit = (node: ElkNode, at: Point): void => {
    for (const child of node.children ?? []) {
      const x = at.x + (child.x ?? 0);
      const y = at.y + (child.y ?? 0);
      places.set(child.id, { x, y });
      const state = states.get(child.id);
      if (state === undefined) starts.push({ id: child.id, x: round(x + startSize / 2), y: round(y + startSize / 2) });
      else boxes.push(boxOf(state, child, { x, y }));
      visit(child, { x, y });
    }
  };
  visit(laid, { x: 0, y: 0 });
  const edges = new Map((laid.edges ?? []).map((edge) => [edge.id, edge]));
  const offsetOf = (edge: ElkExtendedEdge): Point => places.get(edge.container ?? 'chart') ?? { x: 0, y: 0 };
  return {
    width: Math.ceil(laid.width ?? 0),
    height: Math.ceil(laid.height ?? 0),
    boxes,
    arrows: graph.arrows.flatMap(({ id, from, to, words, transitions }) => {
      const edge = edges.get(id);
      if (edge === undefined) return [];
      const offset = offsetOf(edge);
      const [label] = edge.labels ?? [];
      const all = [...new Set(transitions.map((one) => formatTransition(one) || 'always'))];
      const at = { x: round(offset.x + (label?.x ?? 0) + 3), y: round(offset.y + (label?.y ?? 0) + 10) };
      return [{ id, from, to, path: pathOf(edge, offset), words, all, ...(label === undefined ? {} : { at }) }];
    }),
    starts: starts.map(({ id, x, y }) => {
      const edge = edges.get(id);
      return { x, y, path: edge === undefined ? '' : pathOf(edge, offsetOf(edge)) };
    }),
    anywhere: graph.anywhere.map((one) => ({ words: formatTransition(one), to: formatState(one.to ?? '') })),
  };
}

function boxOf({ id, name, kind, tags, description, rule }: ChartState, laid: ElkNode, { x, y }: Point): DrawnBox {
  return {
    id,
    name: formatWord(name),
    kind,
    tags,
    about: `${description}${rule === '' ? '' : ` (${rule})`}`,
    x: round(x),
    y: round(y),
    width: round(laid.width ?? 0),
    height: round(laid.height ?? 0),
    isGroup: (laid.children ?? []).length > 0,
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Straight lines with rounded corners. */
function pathOf({ sections = [] }: ElkExtendedEdge, offset: Point): string {
  return sections
    .map(({ startPoint, bendPoints = [], endPoint }) =>
      rounded([startPoint, ...bendPoints, endPoint].map(({ x, y }) => ({ x: x + offset.x, y: y + offset.y }))),
    )
    .join(' ');
}

function rounded(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let path = `M${formatPoint(first)}`;
  let before = first;
  for (const [at, point] of rest.entries()) {
    const after = rest[at + 1];
    if (after === undefined) path += ` L${formatPoint(point)}`;
    else
      path += ` L${formatPoint(towards(point, before))} Q${formatPoint(point)} ${formatPoint(towards(point, after))}`;
    before = point;
  }
  return path;
}

/** The point on the way from a corner that is one radius away from it, or half of the way where that is shorter. */
function towards(corner: Point, other: Point): Point {
  const length = Math.hypot(other.x - corner.x, other.y - corner.y);
  const part = length === 0 ? 0 : Math.min(cornerRadius, length / 2) / length;
  return { x: corner.x + (other.x - corner.x) * part, y: corner.y + (other.y - corner.y) * part };
}

function formatPoint({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

function startId(state: string): string {
  return `start of ${state}`;
}
