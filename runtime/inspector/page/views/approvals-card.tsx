/**
 * A question that waits for a person: what would run with which arguments, who asks, and what an approval covers. The words
 * of a tool, a sender and a model come after the arguments, in quotes.
 * @see TRU-1, TRU-3 and SEC-7 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isJsonObject, type JsonObject } from '../../../../machines/base/json.ts';
import { inQuotes, wordsOfServer } from '../../../../machines/base/shown-json.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow, AskedBy } from '../../../control/contract/approvals.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { formatClock, formatCountdown } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { letters, useKeys } from '../data/keys.ts';
import { call, useAsked } from '../data/rpc.ts';
import { toolWords } from '../data/server-words.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Check, Field, Segmented } from '../parts/choice.tsx';
import { JsonCode } from '../parts/code.tsx';
import { Cancel, Dialog } from '../parts/dialog.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer, Facts, FoldLine, Tag } from '../parts/panel.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';

export const headingId = 'approvals-heading';
const maxSaidLength = 4_000;

/** The questions that were answered here since the page was loaded. */
const answeredHere = new Set<string>();

/** Returns whether a question was answered here, not on another page or by other means. */
export function isAnsweredHere({ id }: Pick<AnsweredRow, 'id'>): boolean {
  return answeredHere.has(id);
}

type Remember = 'call' | 'run' | 'always';
const yesWords = { call: 'Approve', run: 'Approve for this run', always: 'Always approve…' } as const;

interface QuestionProps {
  readonly row: ApprovalRow;
  /** When it stopped waiting for an answer. */
  readonly endedAtMs: number | undefined;
  readonly answer: AnsweredRow | undefined;
  /** A link leads to it: it is framed and focused. */
  readonly chosen: boolean;
  readonly isArmed: () => boolean;
  readonly looksArmed: boolean;
  /** Called when its arguments and its buttons appear. */
  readonly onShown: () => void;
  readonly onAnswered: () => void;
}

export function Question({
  row,
  endedAtMs,
  answer: given,
  chosen,
  isArmed,
  looksArmed,
  onShown,
  onAnswered,
}: QuestionProps): JSX.Element {
  const article = useRef<HTMLElement>(null);
  const { asked, again } = useAsked(`approval ${row.id}`, () => call('approvals.show', { id: row.id }));
  const { busy: sending, refused, attempt } = useAttempt();
  const busy = sending !== undefined;
  const [answered, setAnswered] = useState('');
  const [note, setNote] = useState('');
  const [remember, setRemember] = useState<Remember>('call');
  const [limiting, setLimiting] = useState(false);
  useEffect(() => {
    if (chosen) article.current?.focus();
  }, [chosen]);
  const isShown = asked.kind === 'there';
  useLayoutEffect(() => {
    if (isShown) onShown();
  }, [isShown]);
  useLayoutEffect(() => {
    const own = article.current;
    // The removed card would lose the focus.
    return () => {
      if (own?.contains(document.activeElement)) document.getElementById(headingId)?.focus();
    };
  }, []);
  const isForm = row.kind === 'form';
  const toolAsked = toolWords(row.tool ?? '', row.server);
  const mayAct = useMayAct();
  const hasLetters = useCell(letters);
  // `clarify` is the daemon's own form for a run's question; no server's tool has that name.
  const isOfRun = row.tool === 'clarify' && isForm;
  const over = answered !== '' ? answered : endedAtMs === undefined ? '' : overWords(row, given, endedAtMs);
  const isHeld = busy || !looksArmed;
  const words = wordsOfServer(row.server, row.message, row.kind);
  const message = isForm && words !== '' ? <p class="message">{words}</p> : null;

  async function answer(grant: boolean, more: { values?: JsonObject; where?: JsonObject } = {}): Promise<void> {
    if (!mayAct || busy || over !== '' || !isArmed()) return;
    if (grant && remember === 'always' && more.where === undefined) {
      setLimiting(true);
      return;
    }
    await attempt('Sending…', async () => {
      const kept = grant ? { remember } : note.trim() === '' ? {} : { note };
      const { not_in_force: why } = await call('approvals.answer', { id: row.id, grant, ...kept, ...more });
      answeredHere.add(row.id);
      const words = isForm ? (grant ? 'Sent.' : 'Declined.') : grant ? 'Approved.' : 'Denied.';
      setAnswered(words);
      if (why === undefined) announce(words);
      else announce(`${words} The rule is written, but not in force: ${why}`, true);
      onAnswered();
    });
    setLimiting(false);
  }

  // Only while the card itself has the focus, so that letters can be typed in its fields.
  const applies = (): boolean => document.activeElement === article.current;
  const keys = [
    { key: 'a', label: 'Approve the card in focus', applies, run: () => void answer(true) },
    { key: 'd', label: 'Deny the card in focus', applies, run: () => void answer(false) },
  ];
  // Nothing is approved unseen.
  useKeys('Approvals', isForm || !mayAct || !isShown ? [] : keys);

  const buttons = (yes: JSX.Element): JSX.Element =>
    over !== '' && !busy ? (
      <span class="over-words strong">{over}</span>
    ) : mayAct ? (
      <div class="btns">
        {yes}
        <Button class="tall" aria-disabled={isHeld} onClick={() => void answer(false)}>
          {isForm ? 'Decline' : 'Deny'}
        </Button>
        {isForm || !hasLetters ? null : <span class="hint not-s">With the card in focus: A approves, D denies</span>}
      </div>
    ) : (
      <p class="muted">This session may only read, so it cannot answer.</p>
    );
  return (
    <article
      ref={article}
      id={`question-${row.id}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys hold while it has the focus.
      tabIndex={0}
      class={`panel question${chosen ? ' at' : ''}${over === '' ? '' : ' over'}`}
      aria-label={isOfRun ? 'Question of a run' : isForm ? `Form of ${row.server}` : `Call of ${toolAsked}`}
    >
      <header class="ask">
        <h2 class="grow">
          {isOfRun ? (
            'An agent asks you'
          ) : isForm ? (
            `${row.server} asks you for values`
          ) : (
            <>
              Allow <code title={row.tool}>{toolAsked}</code>?
            </>
          )}
        </h2>
        {over === '' ? <Deadline row={row} /> : null}
      </header>
      <div class="pad stack">
        <p class="muted">
          {isOfRun ? 'agent run' : <a href={hashOf('servers', `${row.profile}/${row.server}`)}>{row.server}</a>}
          {row.profile === 'default' ? '' : ` · ${row.profile}`} · asked at <Clock at={row.asked_at} />
          {row.node === undefined ? '' : ` by gateway ${row.node}`}
          {row.run === undefined ? null : (
            <>
              {' · '}
              <a href={hashOf('events', row.run)}>the event that waits for it</a>
            </>
          )}
        </p>
        <Answer asked={asked} again={again} what="The question">
          {(full) =>
            isForm && mayAct ? (
              <>
                {message}
                <SchemaForm
                  id={`approval-${row.id}`}
                  schema={full.detail}
                  isQuestion
                  onValues={(values) => void answer(true, { values })}
                >
                  {buttons(
                    <Button type="submit" class="primary tall" aria-disabled={isHeld}>
                      Send
                    </Button>,
                  )}
                </SchemaForm>
              </>
            ) : (
              <>
                {message}
                <JsonCode value={full.detail ?? {}} label={isForm ? 'Values that are asked for' : 'Arguments'} />
                {isForm ? null : <Background full={full} words={words} />}
                <Acts>
                  <div class="cols2 answer" inert={over !== ''}>
                    <div class="field">
                      <span>If approved, remember</span>
                      <Segmented
                        label="If approved, remember"
                        value={remember}
                        options={[
                          ['call', 'Only this call'],
                          ...(row.run === undefined ? [] : [['run', 'This tool, for this run'] as const]),
                          ['always', 'Always for this tool…'],
                        ]}
                        onChoose={setRemember}
                      />
                    </div>
                    <Field label="Note to the agent (optional, sent with a denial)" value={note} onInput={setNote} />
                  </div>
                </Acts>
                {buttons(
                  <Button class="primary tall" aria-disabled={isHeld} onClick={() => void answer(true)}>
                    {yesWords[remember]}
                  </Button>,
                )}
                {limiting && over === '' ? (
                  <AlwaysDialog
                    row={full}
                    busy={busy}
                    onYes={(where) => void answer(true, { where })}
                    onClose={() => setLimiting(false)}
                  />
                ) : null}
              </>
            )
          }
        </Answer>
        {/* An answer elsewhere has already taken the place of the one that was refused. */}
        {over === '' ? <WhyNot refused={refused} /> : null}
      </div>
    </article>
  );
}

function Deadline({ row }: { readonly row: ApprovalRow }): JSX.Element {
  const now = useNow();
  const left = Date.parse(row.expires_at) - now;
  return (
    <span class={`left num${left < 60_000 ? ' soon' : ''}`}>
      <Status mark="waiting">{left > 0 ? `${formatCountdown(left)} left` : 'runs out'}</Status>
    </span>
  );
}

/** The caller, and the words of the tool, the sender and the model. */
function Background({ full, words }: { readonly full: ApprovalDetail; readonly words: string }): JSX.Element {
  const { asked_by: by, hints, said, prompt } = full;
  const facts: (readonly [string, JSX.Element])[] = [];
  if (by !== undefined) facts.push(['Asked by', <Asker key="by" by={by} />]);
  if (words !== '' || hints !== undefined)
    facts.push([
      'Tool says',
      <span key="says" class="message">
        {words} <Tag tone="wait">may change data</Tag>{' '}
        {hints?.destructive === true ? <Tag tone="bad">destructive</Tag> : null}{' '}
        {hints?.open_world === true ? <Tag>reaches other systems</Tag> : null}
      </span>,
    ]);
  if (by?.person !== undefined) facts.push(['Sender names', <span key="person">{inQuotes(by.person)}</span>]);
  if (said !== undefined && said !== '')
    facts.push(['The agent said before', <span key="said">{inQuotes(said, maxSaidLength)}</span>]);
  return (
    <>
      <Facts facts={facts} />
      {prompt === undefined ? null : (
        <FoldLine title="Prompt of the run" beside={inQuotes(prompt)}>
          <p class="pad prompt">{inQuotes(prompt, Number.POSITIVE_INFINITY)}</p>
        </FoldLine>
      )}
    </>
  );
}

function Asker({ by }: { readonly by: AskedBy }): JSX.Element {
  return (
    <>
      {by.agent ?? 'An agent'}, run of{' '}
      {by.event_key === undefined ? by.route : <a href={hashOf('events', by.event_key)}>{by.route}</a>} for event{' '}
      {inQuotes(by.event)}
    </>
  );
}

const places: Readonly<Record<string, string>> = {
  cli: 'on the command line',
  page: 'on the page',
  chat: 'in a chat',
};

/** Formats who answered, or that there was no answer. */
export function answerWords(row: AnsweredRow): string {
  const { verdict, by = '', answered_at, remember, note } = row;
  if (verdict === 'timedOut') return 'No answer came in time.';
  const done = verdict === 'approved' ? 'Approved' : 'Denied';
  const scope = remember === 'run' ? ' for its run' : remember === 'always' ? ', always for this tool' : '';
  const reason = note === undefined ? '' : `: ${note}`;
  const place = isAnsweredHere(row) ? 'on this page' : (places[by] ?? `by ${by}`);
  return `${done}${scope} ${place} at ${formatClock(answered_at, Date.now())}${reason}`;
}

/** Formats the outcome of a question that was not answered on this page. */
function overWords({ expires_at, node }: ApprovalRow, given: AnsweredRow | undefined, endedAtMs: number): string {
  if (given !== undefined) return answerWords(given);
  if (endedAtMs >= Date.parse(expires_at)) return 'No answer came in time.';
  // Another gateway may only be silent for a moment, as while the database restarts.
  return node === undefined
    ? 'No answer is needed: its call has ended.'
    : `Gateway ${node} no longer lists it: its call has ended, or the gateway does not answer.`;
}

interface AlwaysProps {
  readonly row: ApprovalDetail;
  readonly busy: boolean;
  readonly onYes: (where: JsonObject) => void;
  readonly onClose: () => void;
}

function AlwaysDialog({ row, busy, onYes, onClose }: AlwaysProps): JSX.Element {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const values = Object.entries(isJsonObject(row.detail) ? row.detail : {}).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  const needsLimit = row.hints?.destructive === true && chosen.length === 0;
  const where = Object.fromEntries(values.filter(([name]) => chosen.includes(name)));
  return (
    <Dialog title="Always approve this tool?" keepsText onClose={onClose}>
      <div class="pad stack">
        <p>
          A rule is written to the entry of mcp server {row.server}. From then on calls of <code>{row.tool}</code> run
          without a question, in every run and for every caller. To take it back, remove the rule under{' '}
          <code>approvals</code>.
        </p>
        {values.length === 0 ? null : <p>Only with these arguments:</p>}
        {values.map(([name, value]) => (
          <Check
            key={name}
            checked={chosen.includes(name)}
            onChange={(isOn) => setChosen(isOn ? [...chosen, name] : chosen.filter((one) => one !== name))}
          >
            <code>{inQuotes(name)}</code> is {inQuotes(String(value))}
          </Check>
        ))}
        {needsLimit ? <p class="hint fault">The tool is marked as destructive: choose at least one argument.</p> : null}
        <div class="btns">
          <Cancel data-first />
          <Button class="danger" disabled={busy || needsLimit} onClick={() => onYes(where)}>
            {busy ? 'Writing the rule…' : 'Write the rule'}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
