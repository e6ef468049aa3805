/** A box with a title, and its small parts: counts, tags, keys, empty and failed content. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Asked } from '../data/rpc.ts';
import { Acts } from './acts.tsx';
import { withCode } from './basics.tsx';
import { Button } from './button.tsx';
import { type MarkName, StatusMark, type Tone } from './chip.tsx';

interface PanelProps {
  readonly title: ComponentChildren;
  /** Beside the title: a count, or words for a range. */
  readonly beside?: ComponentChildren;
  /** At the right: a link or buttons. */
  readonly right?: ComponentChildren;
  /** Without a line below the title. */
  readonly bare?: boolean;
  readonly children: ComponentChildren;
}

export function Panel({ title, beside, right, bare = false, children }: PanelProps): JSX.Element {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header class={bare ? 'bare' : ''}>
        <h2 id={id}>{title}</h2>
        {beside}
        {right === undefined ? null : <span class="push btns">{right}</span>}
      </header>
      {children}
    </section>
  );
}

export interface CountProps {
  readonly count: number;
  readonly tone?: 'bad' | 'wait' | 'plain';
  /** What is counted, for screen readers. */
  readonly words?: string;
}

export function Count({ count, tone = 'plain', words = '' }: CountProps): JSX.Element {
  return (
    <span class={`count ${tone}`}>
      {count.toLocaleString('en')}
      {words === '' ? null : <span class="unseen"> {words}</span>}
    </span>
  );
}

export function Tag({ tone, children }: { readonly tone?: Tone; readonly children: ComponentChildren }): JSX.Element {
  return <span class={`tag ${tone ?? ''}`}>{children}</span>;
}

export function Kbd({ children }: { readonly children: string }): JSX.Element {
  return <kbd>{children}</kbd>;
}

/** Names and values below each other, without those that have no value. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <>
            <dt key={name}>{name}</dt>
            <dd>{value}</dd>
          </>
        ),
      )}
    </dl>
  );
}

interface BannerProps {
  readonly mark: MarkName;
  readonly children: ComponentChildren;
  readonly button?: ComponentChildren;
  readonly alert?: boolean;
}

/** A state of the page or of a region, in one line with at most one button. */
export function Banner({ mark, children, button, alert = false }: BannerProps): JSX.Element {
  const tone: Readonly<Partial<Record<MarkName, Tone>>> = { failed: 'bad', waiting: 'wait', retrying: 'wait' };
  return (
    <div class={`banner ${tone[mark] ?? 'working'}`} role={alert ? 'alert' : 'note'}>
      <StatusMark name={mark} />
      <span class="grow">{children}</span>
      {button}
    </div>
  );
}

interface VerdictProps {
  readonly mark: MarkName;
  readonly tone: Tone;
  readonly title: ComponentChildren;
  readonly more?: ComponentChildren;
  readonly buttons?: ComponentChildren;
}

/** The conclusion before the evidence: outcome and reason in one sentence, and below it what to do. */
export function Verdict({ mark, tone, title, more, buttons }: VerdictProps): JSX.Element {
  return (
    <div class={`verdict ${tone}`}>
      <StatusMark name={mark} tone={tone} />
      <b>{title}</b>
      {more === undefined ? null : <p class="muted">{more}</p>}
      {buttons === undefined ? null : <div class="btns">{buttons}</div>}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly buttons?: ComponentChildren;
  /** Buttons that change something. */
  readonly acts?: ComponentChildren;
}

/** An empty state: why it is empty, and what would change that. */
export function Empty({ title, children, buttons, acts }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {children === undefined ? null : <p class="muted">{children}</p>}
      {(buttons ?? acts) === undefined ? null : (
        <div class="btns">
          {buttons}
          <Acts>{acts}</Acts>
        </div>
      )}
    </div>
  );
}

const patienceMs = 300;

interface AnswerProps<Found> {
  readonly asked: Asked<Found>;
  readonly again: () => void;
  /** Why the result, which is an earlier one then, could not be read again. */
  readonly failed?: string;
  /** The subject of the failure's sentence: "The servers could not be loaded". */
  readonly what: string;
  readonly children: (found: Found) => ComponentChildren;
}

/** The result; "Loading…" if it takes a moment; or the failure, with a button that tries again. */
export function Answer<Found>({ asked, again, failed = '', what, children }: AnswerProps<Found>): JSX.Element {
  const words = `${what} could not be loaded.`;
  const button = <Button onClick={again}>Try again</Button>;
  if (asked.kind === 'waiting') return <Loading />;
  if (asked.kind === 'there') {
    return (
      <>
        {failed === '' ? null : (
          <Banner mark="failed" alert button={button}>
            <b class="strong">{words}</b> {withCode(`What you see is from before: ${failed}`)}
          </Banner>
        )}
        {children(asked.value)}
      </>
    );
  }
  return (
    <div class="empty" role="alert">
      <p class="strong">{words}</p>
      <p class="muted">{withCode(asked.why)}</p>
      <div class="btns">{button}</div>
    </div>
  );
}

export function Loading(): JSX.Element {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  return <p class="pad muted">{isLong ? 'Loading…' : ' '}</p>;
}

interface FoldLineProps {
  readonly title: string;
  readonly beside?: ComponentChildren;
  /** Whether it is open at first. */
  readonly open?: boolean;
  readonly children: ComponentChildren;
}

/** One line that unfolds the content below it. */
export function FoldLine({ title, beside, open = false, children }: FoldLineProps): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  return (
    <>
      <button type="button" class="foldline" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <i class={`caret${isOpen ? ' open' : ''}`} />
        <b>{title}</b>
        <span class="cut">{beside}</span>
      </button>
      {isOpen ? children : null}
    </>
  );
}
