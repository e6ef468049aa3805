/**
 * The whole story of one delivery: a staircase of states, one chapter for each actor that had a part in it, with the reason
 * at each step; what came in and what went out; and the buttons to send it through again.
 * @see DUR-2 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Json } from '../../../../machines/base/json.ts';
import type { HistoryDetail } from '../../../control/contract.ts';
import type { Chapter, Stair, Story } from '../../wire.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { spellStep } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { go } from '../data/place.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { type Standing, sendTwice, settledText, wordsOfRow } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Answered, Clock, Fact, JsonText, LongText, withCode } from '../parts/basics.tsx';
import { Chip, Mark } from '../parts/chip.tsx';

const changing = /^(webhookRequest|coalescingGroup|agentRun|delivery|toolCall|approval)$/;
const resultStandings: Readonly<Record<Stair['result'], Standing>> = {
  passed: 'resting',
  stopped: 'needsUser',
  skipped: 'ended',
  waiting: 'working',
  failed: 'failed',
};

export function StoryPane({ id }: { readonly id: string }): JSX.Element {
  const { asked, again } = useAsked(`story ${id}`, () => call('inspect.why', { id }));
  const detail = useAsked(`delivery ${id}`, () => call('webhook.delivery', { id }));
  useFresh(changing, () => {
    again();
    detail.again();
  });
  return (
    <Answered asked={asked}>
      {(story) => {
        const waits = story.chapters.some(needsAnswer);
        return (
          <article class="story" aria-label={`Delivery ${story.delivery}`}>
            <header class="head">
              <div>
                <h2>{story.delivery}</h2>
                <p class="sub">
                  <a href={hashOf('events', '', { route: story.route })}>{story.route}</a>
                  {story.profile === 'default' ? '' : ` · ${story.profile}`} · {story.event} ·{' '}
                  <Clock at={story.received} />
                </p>
              </div>
              <Chip {...wordsOfRow({ status: story.status, ...(waits ? { question: '' } : {}) })} />
            </header>
            <p class="verdict">{story.verdict}</p>
            {story.cure === '' ? null : <p class="cure">{withCode(story.cure)}</p>}
            <Actions story={story} detail={detail.asked.kind === 'there' ? detail.asked.value : undefined} />
            {story.chapters.map((chapter) => (
              <ChapterPart key={`${chapter.kind} ${chapter.actor}`} chapter={chapter} />
            ))}
            {detail.asked.kind === 'there' ? <Papers detail={detail.asked.value} /> : null}
          </article>
        );
      }}
    </Answered>
  );
}

/** Replay sends the event through once more; retry sends only its text again. */
function Actions({
  story,
  detail,
}: {
  readonly story: Story;
  readonly detail: HistoryDetail | undefined;
}): JSX.Element {
  const [busy, setBusy] = useState(false);
  const outgoing = story.chapters.find(({ kind, state }) => kind === 'delivery' && settledText.test(state));

  async function replay(): Promise<void> {
    setBusy(true);
    try {
      const { status, body } = await call('webhook.replay', { id: story.key });
      const fresh = deliveryIdOf(body);
      announce(`Replayed: the gateway answered ${status}.`, status >= 400);
      if (fresh !== undefined) go('events', fresh);
    } catch (error) {
      announce(`Not replayed: ${wordsOf(error).why}`, true);
    } finally {
      setBusy(false);
    }
  }

  async function retry(id: string, isUnsure: boolean): Promise<void> {
    if (isUnsure && !confirm(sendTwice)) return;
    setBusy(true);
    try {
      await call('deliveries.retry', { id, ...(isUnsure ? { force: true } : {}) });
      announce('The text is on its way again.');
    } catch (error) {
      announce(`Not sent again: ${wordsOf(error).why}`, true);
    } finally {
      setBusy(false);
    }
  }

  const hasBody = (detail?.record?.body ?? '') !== '';
  return (
    <div class="buttons">
      {story.chapters.some(needsAnswer) ? (
        <a class="button main" href={hashOf('approvals', detail?.question)}>
          Answer it
        </a>
      ) : null}
      <button type="button" disabled={busy || !hasBody} onClick={() => void replay()}>
        Replay
      </button>
      {outgoing === undefined ? null : (
        <button
          type="button"
          disabled={busy}
          onClick={() => void retry(keyOfActor(outgoing.actor), outgoing.state === 'unknown')}
        >
          Retry the delivery
        </button>
      )}
      {detail !== undefined && !hasBody ? <span class="muted">A refused request leaves no body to replay.</span> : null}
      {detail?.record?.replayOf === undefined ? null : (
        <a href={hashOf('events', detail.record.replayOf)}>the event that it replays</a>
      )}
    </div>
  );
}

function ChapterPart({ chapter }: { readonly chapter: Chapter }): JSX.Element {
  const { rows } = useCell(living);
  const first = chapter.began;
  return (
    <section class={`chapter ${chapter.kind}`} aria-label={chapter.title}>
      <h3>
        {chapter.title}
        {rows.has(chapter.actor) ? <a href={hashOf('actors', chapter.actor)}>alive: see its chart</a> : null}
        <span class="muted num">{lengthOf(chapter)}</span>
      </h3>
      <ol class="stairs">
        {chapter.stairs.map((stair, at) => (
          <li
            key={`${at} ${stair.state}`}
            class={`stair ${needsAnswer(chapter) ? 'stopped' : stair.result}`}
            style={{ '--step': String(Math.min(at, 12)) }}
          >
            <span class="tread">
              <Mark standing={needsAnswer(chapter) ? 'needsUser' : resultStandings[stair.result]} />
              <span class="state">{stair.state}</span>
              <span class="unseen"> {stair.result}</span>
              <span class="told">{withCode(stair.told)}</span>
              {stair.rule === '' ? null : <span class="rule">{stair.rule}</span>}
              <span class="muted num at">{stair.at === undefined ? '' : spellStep(stair.at - first)}</span>
            </span>
            {(stair.texts ?? []).map(({ title, text }, nth) => (
              <details key={`${nth} ${title}`}>
                <summary>{title}</summary>
                <LongText text={text} label={title} />
              </details>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What came in, and the records of what it led to. */
function Papers({ detail }: { readonly detail: HistoryDetail }): JSX.Element {
  const { record, run, delivery, notice } = detail;
  return (
    <div class="papers">
      {(record?.body ?? '') === '' ? null : (
        <details>
          <summary>Payload</summary>
          <LongText text={indented(record?.body ?? '')} label="Payload" />
        </details>
      )}
      {record?.headers === undefined || Object.keys(record.headers).length === 0 ? null : (
        <details>
          <summary>Headers</summary>
          <dl class="facts">
            {Object.entries(record.headers).map(([name, value]) => (
              <Fact key={name} name={name}>
                <code>{String(value)}</code>
              </Fact>
            ))}
          </dl>
        </details>
      )}
      {run === undefined ? null : (
        <details>
          <summary>Record of the run</summary>
          <JsonText value={run} label="Record of the run" />
        </details>
      )}
      {delivery === undefined ? null : (
        <details>
          <summary>Record of the delivery</summary>
          <JsonText value={delivery} label="Record of the delivery" />
        </details>
      )}
      {notice === undefined ? null : (
        <details>
          <summary>Record of the failure notice</summary>
          <JsonText value={notice} label="Record of the failure notice" />
        </details>
      )}
    </div>
  );
}

/** A person's yes or answer is what it waits for. */
function needsAnswer({ kind, state }: Chapter): boolean {
  return kind === 'question' || (kind === 'call' && state === 'approving');
}

function lengthOf({ began, ended }: Chapter): string {
  if (ended === undefined) return 'goes on';
  return ended === began ? '' : `took ${spellStep(ended - began).slice(1)}`;
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function deliveryIdOf(body: Json): string | undefined {
  const value = typeof body === 'string' ? parsed(body) : body;
  const id = typeof value === 'object' && value !== null ? (value as { delivery_id?: unknown }).delivery_id : undefined;
  return typeof id === 'string' ? id : undefined;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

/** `deliveries/<key>` names the record of that key. */
function keyOfActor(actor: string): string {
  return actor.slice(actor.indexOf('/') + 1);
}
