/**
 * Lays charts out, once for each machine, in a worker that is fetched with the first one: the page itself never waits for
 * the layout engine.
 * @see INS-2 in docs/specification.md
 * @see [ELK layered](https://eclipse.dev/elk/reference/algorithms/org-eclipse-elk-layered.html)
 */

import type { ELK, ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import type { Chart, ChartState } from '../../wire.ts';
import { type Graph, type GraphArrow, graphOf, wordLetter, wordLine } from './chart-graph.ts';
import { look } from './rpc.ts';

export interface DrawnBox {
  readonly id: string;
  readonly state: ChartState;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly isGroup: boolean;
}

export interface DrawnArrow {
  readonly arrow: GraphArrow;
  /** SVG path data. */
  readonly path: string;
  readonly words: { readonly x: number; readonly y: number } | undefined;
}

export interface Drawing {
  readonly chart: Chart;
  readonly graph: Graph;
  readonly width: number;
  readonly height: number;
  /** Groups before what lies in them. */
  readonly boxes: readonly DrawnBox[];
  readonly arrows: readonly DrawnArrow[];
  readonly starts: readonly { readonly x: number; readonly y: number; readonly path: string }[];
}

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

const drawings = new Map<string, Promise<Drawing | undefined>>();
let engine: Promise<ELK> | undefined;

/** The drawing of a machine's chart; undefined for one that has none, such as a ward. */
export function drawingOf(machine: string, version: string): Promise<Drawing | undefined> {
  const key = `${machine} ${version}`;
  const known = drawings.get(key);
  if (known !== undefined) return known;
  const made = look<Chart>(`./chart/${encodeURIComponent(machine)}`).then((chart) =>
    chart === undefined ? undefined : draw(chart),
  );
  drawings.set(key, made);
  made.catch(() => drawings.delete(key));
  return made;
}

async function draw(chart: Chart): Promise<Drawing> {
  engine ??= import('elkjs/lib/elk-api.js').then(({ default: Engine }) => new Engine({ workerUrl }));
  const graph = graphOf(chart);
  const laid = await (await engine).layout(elkGraph(graph));
  return drawn(chart, graph, laid);
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
      if (state === undefined) starts.push({ id: child.id, x: x + startSize / 2, y: y + startSize / 2 });
      else {
        const isGroup = (child.children ?? []).length > 0;
        boxes.push({ id: child.id, state, x, y, width: child.width ?? 0, height: child.height ?? 0, isGroup });
      }
      visit(child, { x, y });
    }
  };
  visit(laid, { x: 0, y: 0 });
  const edges = new Map((laid.edges ?? []).map((edge) => [edge.id, edge]));
  const offsetOf = (edge: ElkExtendedEdge): Point => places.get(edge.container ?? 'chart') ?? { x: 0, y: 0 };
  return {
    chart,
    graph,
    width: laid.width ?? 0,
    height: laid.height ?? 0,
    boxes,
    arrows: graph.arrows.flatMap((arrow) => {
      const edge = edges.get(arrow.id);
      if (edge === undefined) return [];
      const offset = offsetOf(edge);
      const [label] = edge.labels ?? [];
      return [
        {
          arrow,
          path: pathOf(edge, offset),
          words:
            label === undefined ? undefined : { x: offset.x + (label.x ?? 0) + 3, y: offset.y + (label.y ?? 0) + 10 },
        },
      ];
    }),
    starts: starts.map(({ id, x, y }) => {
      const edge = edges.get(id);
      return { x, y, path: edge === undefined ? '' : pathOf(edge, offsetOf(edge)) };
    }),
  };
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
  let path = `M${spell(first)}`;
  let before = first;
  for (const [at, point] of rest.entries()) {
    const after = rest[at + 1];
    if (after === undefined) path += ` L${spell(point)}`;
    else path += ` L${spell(towards(point, before))} Q${spell(point)} ${spell(towards(point, after))}`;
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

function spell({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

function startId(state: string): string {
  return `start of ${state}`;
}
