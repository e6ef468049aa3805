/**
 * The action on all events that a search selects, where it selects by one status, and otherwise at most by a route and a
 * profile: replay those that ended, or cancel the runs of the others.
 * @see DUR-2, DIS-3 and INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { readQuery, statusesOf } from '../../../../machines/base/event-query.ts';
import { defined } from '../../../../machines/base/json.ts';
import { replayedStatuses } from '../../../../machines/base/status.ts';
import { type NamedRange, rangeSpans } from '../../../../machines/base/time-range.ts';
import { announce } from '../data/announce.ts';
import { daemonNow } from '../data/clock.ts';
import { counted } from '../data/format.ts';
import { call, failureWords } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';

/** Words after `status:` that select ended events, and those that select runs to cancel, with their status; `open` both. */
const ended = /^(?:failed|interrupted|cancelled|ignored)$/;
const underWay: Readonly<Record<string, 'queued' | 'running' | undefined>> = {
  open: undefined,
  queued: 'queued',
  running: 'running',
};

export function ActOnAll({ q, range }: { readonly q: string; readonly range: string }): JSX.Element | null {
  const [isAsked, setAsked] = useState(false);
  const { busy, attempt } = useAttempt();
  const chosen = chosenBy(q, range);
  if (chosen === undefined) return null;
  const { word, statuses, choice } = chosen;
  const isCancel = !ended.test(word);
  const verb = isCancel ? 'Cancel' : 'Replay';

  async function replayAll(): Promise<void> {
    let [replayed, before, responded, left] = [0, 0, 0, 0];
    let why: string | undefined;
    for (const status of replayedStatuses.filter((one) => statuses.has(one))) {
      const answer = await call('events.replayAll', { ...choice(), status });
      replayed += answer.replayed;
      before += answer.replayed_before;
      responded += answer.with_response;
      left += answer.left;
      why ??= answer.refusals[0]?.error;
    }
    const others = [
      before === 0 ? '' : ` ${counted(before, 'event')} had a replay.`,
      responded === 0 ? '' : ` ${counted(responded, 'event')} had a response: see Failures.`,
    ];
    say(`${counted(replayed, 'event')} replayed.${others.join('')}`, left, why);
  }

  async function cancelAll(): Promise<void> {
    const answer = await call('runs.cancel', { ...choice(), ...defined({ status: underWay[word] }), all: true });
    if ('left' in answer) say(`${counted(answer.cancelled, 'run')} cancelled.`, answer.left, answer.refusals[0]?.error);
  }

  const yes = (): void =>
    void attempt(isCancel ? 'Cancelling…' : 'Replaying…', isCancel ? cancelAll : replayAll, (refusal) =>
      announce(failureWords(isCancel ? 'Not cancelled' : 'Not replayed', refusal), true),
    ).then(() => setAsked(false));

  return (
    <>
      <Button icon={isCancel ? 'close' : 'replay'} class="not-s" onClick={() => setAsked(true)}>
        {verb} all…
      </Button>
      {isAsked ? (
        <Confirm
          title={isCancel ? 'Cancel all of these runs?' : 'Replay all of these events?'}
          yes={isCancel ? 'Cancel the runs' : 'Replay all'}
          busy={busy}
          danger={isCancel}
          onYes={yes}
          onClose={() => setAsked(false)}
        >
          <p>
            {isCancel
              ? 'They deliver nothing, even those in progress. Runs that come later are not cancelled. The events can be replayed.'
              : 'Each is processed once more as a new event, the oldest first: agents run, and responses are delivered. Events that were replayed before are left out, and so are those whose response can be sent again from Failures.'}
          </p>
        </Confirm>
      ) : null}
    </>
  );
}

function say(done: string, left: number, why = ''): void {
  announce(left === 0 ? done : `${done} ${left} others were refused: ${why}`, left > 0);
}

/** What can be acted on: the only status, and the rest of the choice; undefined if there are other parts. */
function chosenBy(q: string, range: string) {
  const read = readQuery(q);
  if (!read.ok || read.query.texts.length > 0) return undefined;
  const { status = [], route = [], profile = [], ...others } = read.query.filters;
  const [word = ''] = status;
  const isKnown = ended.test(word) || Object.hasOwn(underWay, word);
  const spanMs = Object.hasOwn(rangeSpans, range) ? rangeSpans[range as NamedRange] : undefined;
  if (!isKnown || status.length > 1 || route.length > 1 || profile.length > 1) return undefined;
  if (Object.keys(others).length > 0 || (spanMs === undefined && range !== 'all')) return undefined;
  const statuses = statusesOf(read.query) ?? new Set();
  const since = (): string | undefined =>
    spanMs === undefined ? undefined : new Date(daemonNow() - spanMs).toISOString();
  return { word, statuses, choice: () => defined({ route: route[0], profile: profile[0], since: since() }) };
}
