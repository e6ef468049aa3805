/**
 * The actions on all that a search selects, where it selects by one status, and otherwise at most by a route, a profile and a
 * range: replay the events that ended, cancel the runs of the others, retry or drop the deliveries that wait.
 * @see DUR-2, DIS-3, DLV-4 and INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { readQuery, statusesOf } from '../../../../machines/base/event-query.ts';
import { defined } from '../../../../machines/base/json.ts';
import { replayedStatuses } from '../../../../machines/base/status.ts';
import { type NamedRange, rangeSpans } from '../../../../machines/base/time-range.ts';
import type { Bulk } from '../../../control/contract/deliveries.ts';
import { announce } from '../data/announce.ts';
import { daemonNow } from '../data/clock.ts';
import { deliveriesWords } from '../data/failures.ts';
import { counted } from '../data/format.ts';
import { call, failureWords } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import type { IconName } from '../parts/icons.tsx';

const done = { Replay: 'replayed', Cancel: 'cancelled', Retry: 'retried', Drop: 'dropped' } as const;

interface ActOnAll {
  readonly verb: keyof typeof done;
  readonly icon: IconName;
  readonly danger: boolean;
  /** While it is done. */
  readonly while: string;
  readonly why: string;
  /** "7 runs" */
  readonly words: (count: number) => string;
  /** Lists what is meant now: each answer at most as many rows as any listing returns. */
  readonly list: () => Promise<readonly (readonly unknown[])[]>;
  readonly run: () => Promise<Done>;
  /** What was listed is acted on, and no more. */
  readonly isListed?: boolean;
}

interface Done {
  readonly words: string;
  /** How many were refused, and why the first. */
  readonly left: number;
  readonly why: string | undefined;
}

interface Choice {
  readonly route?: string;
  readonly profile?: string;
  readonly since?: string;
}

/** As many rows as a listing returns at most. */
const limit = 1_000;
const ended = /^(?:failed|interrupted|cancelled|ignored)$/;
/** Words after `status:` that select runs to cancel, with their statuses. */
const underWay: Readonly<Record<string, readonly ('queued' | 'running')[]>> = {
  open: ['queued', 'running'],
  queued: ['queued'],
  running: ['running'],
};

/** @param routes the names of the routes, among which case is ignored, as in the search */
export function ActOnAll({
  q,
  range,
  routes,
}: {
  readonly q: string;
  readonly range: string;
  readonly routes: readonly string[];
}): JSX.Element {
  const [asked, setAsked] = useState<{ readonly act: ActOnAll; readonly words: string }>();
  const { busy, attempt } = useAttempt();

  const begin = (act: ActOnAll, words: string, change: () => Promise<void>): Promise<boolean> =>
    attempt(words, change, (refusal) => announce(failureWords(`Not ${done[act.verb]}`, refusal), true));
  const ask = async (act: ActOnAll): Promise<void> => {
    let found: typeof asked;
    await begin(act, 'Counting…', async () => {
      const lists = await act.list();
      const count = lists.reduce((sum, rows) => sum + rows.length, 0);
      const isFull = act.isListed !== true && lists.some((rows) => rows.length === limit);
      if (count === 0) announce(`There is nothing left to ${act.verb.toLowerCase()}.`);
      else found = { act, words: `${isFull ? 'at least ' : ''}${act.words(count)}` };
    });
    // Not while it counts, when a question would have disabled buttons, none of which takes the focus.
    if (found !== undefined) setAsked(found);
  };
  const yes = (act: ActOnAll): void =>
    void begin(act, act.while, async () => {
      const { words, left, why = '' } = await act.run();
      announce(
        left === 0 ? words : `${words} ${left} ${left === 1 ? 'other was' : 'others were'} refused: ${why}`,
        left > 0,
      );
    }).then(() => setAsked(undefined));

  return (
    <>
      {actsOn(q, range, routes).map((act) => (
        <Button key={act.verb} icon={act.icon} onClick={() => void ask(act)}>
          {act.verb} all…
        </Button>
      ))}
      {asked === undefined ? null : (
        <Confirm
          title={`${asked.act.verb} ${asked.words}?`}
          yes={`${asked.act.verb} ${asked.words}`}
          busy={busy}
          danger={asked.act.danger}
          onYes={() => yes(asked.act)}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked.act.why}</p>
        </Confirm>
      )}
    </>
  );
}

/** None if the search has other parts, or if several routes have its name but for case. */
function actsOn(q: string, range: string, routes: readonly string[]): readonly ActOnAll[] {
  const read = readQuery(q);
  if (!read.ok || read.query.texts.length > 0) return [];
  const { status = [], route = [], profile = [], ...others } = read.query.filters;
  const [[word = ''], [typed]] = [status, route];
  const alike = routes.filter((one) => one.toLowerCase() === typed?.toLowerCase());
  // Several profiles may have a route of one name.
  const [name = typed, ...more] = new Set(alike);
  const spanMs = Object.hasOwn(rangeSpans, range) ? rangeSpans[range as NamedRange] : undefined;
  if (status.length > 1 || route.length > 1 || profile.length > 1 || more.length > 0) return [];
  if (Object.keys(others).length > 0 || (spanMs === undefined && range !== 'all')) return [];
  const choice = (): Choice =>
    defined({
      route: name,
      profile: profile[0],
      since: spanMs === undefined ? undefined : new Date(daemonNow() - spanMs).toISOString(),
    });
  if (ended.test(word)) return [replayOf(statusesOf(read.query) ?? new Set(), choice)];
  if (Object.hasOwn(underWay, word)) return [cancelOf(underWay[word] ?? [], choice)];
  if (word === 'retrying') return (['Retry', 'Drop'] as const).map((verb) => sweepOf(verb, 'waitingToRetry', choice));
  // What waits for its turn gets it no sooner by a retry.
  return word === 'delivering' ? [sweepOf('Drop', 'queued', choice)] : [];
}

function replayOf(all: ReadonlySet<string>, choice: () => Choice): ActOnAll {
  const statuses = replayedStatuses.filter((one) => all.has(one));
  return {
    verb: 'Replay',
    icon: 'replay',
    danger: false,
    while: 'Replaying…',
    why: 'Each is processed once more as a new event, the oldest first: agents run, and responses are delivered. Events that were replayed before are left out, and so are those whose response can be sent again from Failures.',
    words: (count) => counted(count, 'event'),
    list: () => Promise.all(statuses.map((status) => call('webhook.deliveries', { ...choice(), status, limit }))),
    async run() {
      const sum = { replayed: 0, before: 0, responded: 0, left: 0 };
      let why: string | undefined;
      for (const status of statuses) {
        const answer = await call('events.replayAll', { ...choice(), status });
        sum.replayed += answer.replayed;
        sum.before += answer.replayed_before;
        sum.responded += answer.with_response;
        sum.left += answer.left;
        why ??= answer.refusals[0]?.error;
      }
      const others = [
        sum.before === 0 ? '' : ` ${counted(sum.before, 'event')} had a replay.`,
        sum.responded === 0 ? '' : ` ${counted(sum.responded, 'event')} had a response: see Failures.`,
      ];
      return { words: `${counted(sum.replayed, 'event')} replayed.${others.join('')}`, left: sum.left, why };
    },
  };
}

function cancelOf(statuses: readonly ('queued' | 'running')[], choice: () => Choice): ActOnAll {
  const only = statuses.length === 1 ? statuses[0] : undefined;
  let isRunless = false;
  return {
    verb: 'Cancel',
    icon: 'close',
    danger: true,
    while: 'Cancelling…',
    why: `They deliver nothing, even those in progress.${only === undefined ? ' Batches that still collect are cancelled too.' : ''} Runs that come later are not cancelled. The events can be replayed.`,
    words: (count) => (isRunless ? `the batches of ${counted(count, 'event')}` : counted(count, 'run')),
    async list() {
      const runs = await Promise.all(statuses.map((status) => call('runs.list', { ...choice(), status, limit })));
      isRunless = only === undefined && runs.every((rows) => rows.length === 0);
      return isRunless ? [await call('webhook.deliveries', { ...choice(), status: 'coalesced', limit })] : runs;
    },
    async run() {
      const answer = await call('runs.cancel', { ...choice(), ...defined({ status: only }), all: true });
      const { cancelled = 0, left = 0, refusals = [] } = 'left' in answer ? answer : {};
      return { words: `${counted(cancelled, 'run')} cancelled.`, left, why: refusals[0]?.error };
    },
  };
}

function sweepOf(verb: 'Retry' | 'Drop', status: 'queued' | 'waitingToRetry', choice: () => Choice): ActOnAll {
  const isDrop = verb === 'Drop';
  let ids: readonly string[] = [];
  return {
    verb,
    icon: isDrop ? 'close' : 'replay',
    danger: isDrop,
    while: isDrop ? 'Dropping…' : 'Retrying…',
    why: isDrop
      ? 'They will not be sent. The events and their texts stay in the history, and each can be replayed from there.'
      : 'They are sent without the wait before their next attempt, those of a chat in their order. If the platform has asked for a pause, one is sent now, and the others once it has arrived.',
    words: deliveriesWords,
    isListed: true,
    async list() {
      const rows = await call('deliveries.list', { ...choice(), status, limit });
      // Newest first: a retry keeps the order of a chat, and one dropped makes room for none that is dropped after it.
      ids = rows.map(({ id }) => id);
      if (!isDrop) ids = ids.toReversed();
      return [rows];
    },
    async run() {
      const { done: all, skipped } = (await call(isDrop ? 'deliveries.drop' : 'deliveries.retry', { ids })) as Bulk;
      return { words: `${deliveriesWords(all.length)} ${done[verb]}.`, left: skipped.length, why: skipped[0]?.why };
    },
  };
}
