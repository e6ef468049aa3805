/**
 * Draws for a terminal: styled lines cut to its width, the tree of actors, a statechart as text. Uses no socket and no
 * clock.
 * @see INS-2 in docs/specification.md
 */

import { getOrMake } from '../machines/base/get-or-make.ts';
import { stateWords } from '../machines/base/status.ts';
import { runsAtQuestions, shownState } from '../machines/base/waiting.ts';
import type { ActorFacts, ActorRow, Chart, ChartState, ChartTransition } from '../runtime/control/contract/wire.ts';
import type { Output } from './context.ts';
import { ago, bounded, oneLine, plain, wrapped } from './terminal.ts';
import { cutTo, widthOf } from './text-width.ts';

export type Style = 'plain' | 'dim' | 'bold' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta';
export type Piece = readonly [text: string, style?: Style];

const codes: Readonly<Record<Style, string>> = {
  plain: '',
  dim: '2',
  bold: '1',
  red: '1;31',
  green: '32',
  yellow: '33',
  cyan: '36',
  magenta: '1;35',
};

/** One line of pieces, cut at the terminal's width; a pipe gets the full line. */
export function line(
  out: Output,
  pieces: readonly Piece[],
  width = out.isTerminal ? out.columns : Number.POSITIVE_INFINITY,
): string {
  let left = width;
  let drawn = '';
  const whole = pieces.reduce((columns, [text]) => columns + widthOf(text), 0);
  for (const [text, style = 'plain'] of pieces) {
    if (left <= 0) break;
    const fits = whole <= width || widthOf(text) < left;
    const shown = fits ? text : cutTo(`${text}…`, left);
    drawn += paint(out, shown, style);
    left -= widthOf(shown);
    if (!fits) break;
  }
  return drawn;
}

/** Text wrapped to the terminal, further lines indented by the margin; a pipe gets one line. */
export function whole(out: Output, text: string, style: Style = 'plain', margin = '  '): string[] {
  if (!out.isTerminal) return [paint(out, text, style)];
  const lead = text.slice(0, text.length - text.trimStart().length);
  return wrapped(text.trimStart(), out.columns - lead.length, margin.slice(lead.length)).map((one) =>
    paint(out, `${lead}${one}`, style),
  );
}

/** A piece stays on one line, whatever text of a server or sender it contains. */
function paint(out: Output, text: string, style: Style): string {
  const code = codes[style];
  const shown = plain(text).replace(/\s/g, ' ');
  return out.coloured && code !== '' && shown !== '' ? `\u001b[${code}m${shown}\u001b[0m` : shown;
}

/** The style for a state's tags, trouble first. */
export function styleOf(tags: readonly string[]): Style {
  if (tags.includes('failed')) return 'red';
  if (tags.includes('retrying')) return 'yellow';
  if (tags.includes('needsUser')) return 'magenta';
  return tags.includes('working') ? 'cyan' : 'bold';
}

/** The order of a pool's children; those of other styles keep theirs. */
const troubles: readonly Style[] = ['red', 'magenta', 'yellow'];

/** A shorter name identifies nothing. */
const leastName = 16;

interface TreeSource {
  readonly rows: readonly ActorRow[];
  /** Children of a pool that are not among the rows. */
  readonly more: Readonly<Record<string, number>>;
  readonly nowMs: number;
  /** How a command to run next begins. */
  readonly agent: string;
}

export interface Tree {
  readonly lines: readonly string[];
  /** The failed actors from top to bottom. */
  readonly failed: readonly { readonly id: string; readonly line: number }[];
}

/** The running actors as a tree, one line each. */
export function drawTree(out: Output, { rows, more, nowMs, agent }: TreeSource): Tree {
  const children = new Map<string | null, ActorRow[]>();
  for (const row of rows) getOrMake(children, row.parent, () => []).push(row);
  const questions = runsAtQuestions(rows);
  const styleOfRow = ({ id, tags }: ActorRow): Style => styleOf(questions.has(id) ? ['needsUser'] : tags);
  const troubledFirst = (below: readonly ActorRow[]): readonly ActorRow[] => [
    ...troubles.flatMap((style) => below.filter((row) => styleOfRow(row) === style)),
    ...below.filter((row) => !troubles.includes(styleOfRow(row))),
  ];
  const lines: string[] = [];
  const failed: { readonly id: string; readonly line: number }[] = [];
  const draw = (row: ActorRow, first: string, rest: string): void => {
    const room = out.isTerminal ? out.columns - widthOf(first) : Number.POSITIVE_INFINITY;
    if (row.tags.includes('failed')) failed.push({ id: row.id, line: lines.length });
    lines.push(line(out, [[first, 'dim'], ...rowPieces(row, { question: questions.get(row.id), nowMs, room, agent })]));
    const every = children.get(row.id) ?? [];
    const below = isPool(row) ? troubledFirst(every) : every;
    const beyond = more[row.id] ?? 0;
    below.forEach((child, index) => {
      const last = index === below.length - 1 && beyond === 0;
      draw(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`);
    });
    if (beyond > 0) lines.push(line(out, [[`${rest}└─ … ${beyond} more`, 'dim']]));
  };
  for (const row of children.get(null) ?? []) draw(row, '', '');
  return { lines, failed };
}

function isPool({ machine }: ActorRow): boolean {
  return machine.endsWith('Pool');
}

/** @param room the columns that are left for the row, of which a long name leaves enough for the state */
function rowPieces(
  row: ActorRow,
  {
    question,
    nowMs,
    room,
    agent,
  }: Pick<TreeSource, 'nowMs' | 'agent'> & { readonly question: string | undefined; readonly room: number },
): Piece[] {
  const { id, state, since, why, meta = {} } = row;
  const style = styleOf(question === undefined ? row.tags : ['needsUser']);
  // The full address is what `agent inspect show` takes; a pool needs only its name.
  const name = oneLine(isPool(row) ? id.slice(id.indexOf('/') + 1) : id);
  const size = meta.size ?? 0;
  if (isPool(row))
    return [
      [name, size > 0 ? 'plain' : 'dim'],
      [`  ${size}`, size > 0 ? 'bold' : 'dim'],
    ];
  const age = ago(new Date(since).toISOString(), nowMs);
  // A connection's name already includes its server.
  const { server, ...others } = meta;
  const words = oneLine(stateWords(shownState(state, question)));
  const maxLength = Math.max(leastName, room - widthOf(words) - widthOf(age) - 5);
  const facts = factsText(name.endsWith(`/${server ?? ''}`) ? others : meta);
  return [
    [cutTo(name, maxLength)],
    ['  '],
    [words, style],
    [`  ${age}`, 'dim'],
    ...(facts === '' ? [] : [[`  ${facts}`, 'dim'] as Piece]),
    ...(why === undefined ? [] : [[`  ${oneLine(why)}`, style === 'red' ? 'red' : 'yellow'] as Piece]),
    ...(question === undefined ? [] : [[`  ${agent} approvals show ${question}`, 'dim'] as Piece]),
  ];
}

/** The facts that distinguish an actor from its siblings, without keys that are part of its name. */
export function factsText({
  route,
  event,
  delivery,
  server,
  tool,
  target,
  job,
  waiting,
  tools,
  attempt,
  url,
}: ActorFacts): string {
  return [
    route,
    event,
    delivery,
    tool ?? server,
    target === undefined ? undefined : `→ ${target}`,
    job,
    url,
    tools === undefined ? undefined : `${tools} ${tools === 1 ? 'tool' : 'tools'}`,
    waiting === undefined ? undefined : `${waiting} waiting`,
    attempt === undefined || attempt < 2 ? undefined : `attempt ${attempt}`,
  ]
    .filter((fact) => fact !== undefined)
    .map((fact) => bounded(fact))
    .join('  ');
}

/** A chart as its states in order, each with its transitions; active states are marked. */
export function drawChart(out: Output, chart: Chart, active: string): string[] {
  const lit = new Set(active.split(' ').flatMap(outerStates));
  const lines: string[] = [];
  const everywhere = chart.transitions.filter(({ from }) => from === null);
  if (everywhere.length > 0) {
    lines.push(line(out, [['  in every state', 'dim']]));
    for (const transition of everywhere) lines.push(wayOut(out, transition, '  '));
  }
  for (const state of chart.states) {
    const depth = state.id.split('.').length;
    const margin = '  '.repeat(depth);
    const isLit = lit.has(state.id);
    lines.push(
      line(out, [
        [margin],
        [markOf(state, isLit), isLit ? 'green' : 'dim'],
        [` ${stateWords(state.name)}`, isLit ? 'green' : 'plain'],
        ...(isLit ? [['  ← here', 'green'] as Piece] : []),
        ...(state.rule === '' ? [] : [[`  ${state.rule}`, 'dim'] as Piece]),
      ]),
    );
    for (const transition of chart.transitions) {
      if (transition.from === state.id) lines.push(wayOut(out, transition, margin));
    }
  }
  return lines;
}

function markOf({ kind, initial }: ChartState, isLit: boolean): string {
  if (isLit) return '●';
  if (kind === 'final') return '◎';
  return initial ? '◇' : '○';
}

function wayOut(out: Output, { to, kind, label, guard, from }: ChartTransition, margin: string): string {
  const on = kind === 'always' ? 'at once' : kind === 'event' ? label : `${label} ${kind === 'after' ? 'over' : kind}`;
  const target = stateWords(to ?? from ?? '');
  return line(out, [
    [`${margin}│  `, 'dim'],
    [on === '' ? 'at once' : on, 'plain'],
    ...(guard === undefined || guard === '' ? [] : [[` [${guard}]`, 'dim'] as Piece]),
    [to === null ? ' stays' : ` ─▶ ${target}`, 'dim'],
  ]);
}

/** The state and all its ancestors. */
function outerStates(id: string): string[] {
  const names = id.split('.');
  return names.map((_, index) => names.slice(0, index + 1).join('.'));
}
