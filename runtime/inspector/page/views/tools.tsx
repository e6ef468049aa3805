/** The tools of one server: what each does, its schema, and a form to call it. The daemon's rules apply to the call. */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { getOrMake } from '../../../../machines/base/get-or-make.ts';
import { isJsonObject, type JsonObject } from '../../../../machines/base/json.ts';
import type { ServerRow, ToolRow } from '../../../control/contract/servers.ts';
import type { Result } from '../../../control/contract.ts';
import { type Cell, createCell, useCell } from '../data/cell.ts';
import { connection } from '../data/connection.ts';
import { counted } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { JsonText, LongText, Refused } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { SearchField } from '../parts/choice.tsx';
import { Answer, Empty } from '../parts/panel.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';

const changing = /^serverConnection$/;
/** More tools than fit a window have a filter. */
const maxUnfiltered = 20;

export function Tools({ row }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useFollowed(changing, `tools ${row.profile}/${row.name}`, () =>
    call('mcp.tools', { server: row.name, profile: row.profile }),
  );
  const [words, type] = useState('');
  const wanted = words.trim().toLowerCase();
  const isWanted = ({ tool, description }: ToolRow): boolean => `${tool} ${description}`.toLowerCase().includes(wanted);
  return (
    <Answer asked={asked} again={again} what="The tools">
      {(tools) =>
        tools.length === 0 ? (
          <Empty title="No tool is registered">
            They come with the first connection, as far as the filters let them.
          </Empty>
        ) : (
          <div class="stack">
            {tools.length > maxUnfiltered || words !== '' ? (
              <>
                <SearchField label="Filter tools" value={words} onInput={type} />
                <span class={wanted === '' ? 'unseen' : 'small muted'} role="status">
                  {wanted === '' ? '' : `${tools.filter(isWanted).length} of ${counted(tools.length, 'tool')}`}
                </span>
              </>
            ) : null}
            <ul class="tools">
              {tools.map((tool) => (
                // Hidden, not removed: what is typed for a tool stays.
                <li key={tool.name} hidden={!isWanted(tool)}>
                  <Tool tool={tool} profile={row.profile} />
                </li>
              ))}
            </ul>
          </div>
        )
      }
    </Answer>
  );
}

const hints = [
  ['readOnlyHint', 'reads only'],
  ['destructiveHint', 'may destroy'],
  ['idempotentHint', 'idempotent'],
  ['openWorldHint', 'reaches outside'],
] as const;

function Tool({ tool, profile }: { readonly tool: ToolRow; readonly profile: string }): JSX.Element {
  const key = `${profile}/${tool.name}`;
  const [open, setOpen] = useState(() => (calls.get(key)?.get() ?? none) !== none);
  const words = hints.filter(([hint]) => tool.annotations?.[hint] === true).map(([, word]) => word);
  return (
    <details class="tool" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code class="name">{tool.tool}</code>
        {words.map((word) => (
          <span key={word} class="tag">
            {word}
          </span>
        ))}
        {tool.available ? null : <span class="tag bad">not available now</span>}
        <span class="about">{firstLine(tool.description)}</span>
      </summary>
      {open ? <ToolBody tool={tool} profile={profile} made={callOf(key)} /> : null}
    </details>
  );
}

type Call =
  | { readonly kind: 'none' }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly answer: Result<'mcp.call'>; readonly tookMs: number }
  | { readonly kind: 'refused'; readonly why: string };

const none: Call = { kind: 'none' };
/** The last call of each tool by profile and name: its answer may come while a person approves it in another view. */
const calls = new Map<string, Cell<Call>>();
connection.onChange(() => {
  // Nothing is left for the next person at this screen.
  if (connection.get() === 'refused') calls.clear();
});

const callOf = (key: string): Cell<Call> => getOrMake(calls, key, () => createCell(none));

interface BodyProps {
  readonly tool: ToolRow;
  readonly profile: string;
  readonly made: Cell<Call>;
}

function ToolBody({ tool, profile, made: held }: BodyProps): JSX.Element {
  const made = useCell(held);
  const mayAct = useMayAct();
  const body = useRef<HTMLDivElement>(null);
  const outcome = useRef<HTMLDivElement>(null);
  const isOver = made.kind === 'answered' || made.kind === 'refused';
  // The focus moves to the outcome only if the person is still here.
  useLayoutEffect(() => {
    if (isOver && body.current?.contains(document.activeElement)) outcome.current?.focus();
  }, [isOver]);

  async function run(values: JsonObject): Promise<void> {
    if (made.kind === 'running') return;
    const began = performance.now();
    held.set({ kind: 'running' });
    try {
      const answer = await call('mcp.call', { name: tool.name, arguments: values, profile });
      held.set({ kind: 'answered', answer, tookMs: performance.now() - began });
    } catch (error) {
      held.set({ kind: 'refused', why: wordsOf(error).why });
    }
  }

  return (
    <div class="tool-body" ref={body}>
      {tool.description === firstLine(tool.description) ? null : <p class="description">{tool.description}</p>}
      <p class="muted">
        registered as <code>{tool.name}</code>
      </p>
      <Acts>
        <SchemaForm id={`call-${tool.name}`} schema={tool.input_schema} onValues={(values) => void run(values)}>
          <Button type="submit" class="primary" aria-disabled={made.kind === 'running'}>
            Call
          </Button>
          <span class="muted" role="status">
            {made.kind === 'running' ? (
              <>
                Runs… What needs a yes waits under <a href={hashOf('approvals')}>Approvals</a>.
              </>
            ) : null}
          </span>
        </SchemaForm>
        <div ref={outcome} tabIndex={-1}>
          <Outcome made={made} />
        </div>
      </Acts>
      <details open={!mayAct}>
        <summary>Schema</summary>
        <JsonText value={tool.input_schema} label={`Input schema of ${tool.tool}`} />
        {tool.output_schema === undefined ? null : (
          <JsonText value={tool.output_schema} label={`Output schema of ${tool.tool}`} />
        )}
      </details>
    </div>
  );
}

function Outcome({ made }: { readonly made: Call }): JSX.Element | null {
  if (made.kind === 'refused') return <Refused why={made.why} />;
  if (made.kind !== 'answered') return null;
  const { answer, tookMs } = made;
  if ('error' in answer) return <Refused why={`${answer.error.message} [${answer.error.code}]`} />;
  const texts = answer.content.map((block) =>
    typeof block.text === 'string' ? block.text : JSON.stringify(block, null, 2),
  );
  return (
    <section class={`outcome${answer.isError ? ' bad' : ''}`} aria-label="Result">
      <p class="muted">
        {answer.isError ? 'The tool says that it failed' : 'Result'} · {Math.round(tookMs)} ms
      </p>
      {texts.map((text) => (
        <LongText key={text} text={text} label="Result" />
      ))}
      {isJsonObject(answer.structuredContent) ? (
        <JsonText value={answer.structuredContent} label="Structured result" />
      ) : null}
    </section>
  );
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
