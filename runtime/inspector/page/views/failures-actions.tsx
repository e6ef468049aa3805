/** The actions on failures with their confirmations: retry, drop, and resolving deliveries that may have arrived. */

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { defined } from '../../../../machines/base/json.ts';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { Bulk, BulkChoice } from '../../../control/contract/deliveries.ts';
import { announce } from '../data/announce.ts';
import { askAbove, deliveriesWords } from '../data/failures.ts';
import { useProfile } from '../data/profile.ts';
import { follow, skippedWords } from '../data/progress.ts';
import { call, failureWords } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/choice.tsx';
import { Confirm, Dialog } from '../parts/dialog.tsx';

type FailureSubject =
  | {
      readonly kind: 'group';
      readonly key: string;
      /** Only of those that failed since then. */
      readonly since: string | undefined;
      readonly title: string;
      readonly count: number;
      readonly isUnsure: boolean;
    }
  | { readonly kind: 'rows'; readonly ids: readonly string[]; readonly place: string; readonly isUnsure: boolean };

export interface FailureVerbs {
  readonly retry: () => void;
  readonly drop: () => void;
  readonly resolve: () => void;
}

type Asked = 'retry' | 'drop' | 'resolve';

interface FailureActionsProps {
  readonly subject: FailureSubject;
  readonly onDone: () => void;
  readonly draw: (verbs: FailureVerbs) => ComponentChildren;
}

export function FailureActions({ subject, onDone, draw }: FailureActionsProps): JSX.Element {
  const [asked, setAsked] = useState<Asked>();
  const { busy, attempt } = useAttempt();
  const [reason, setReason] = useState('');
  const count = subject.kind === 'group' ? subject.count : subject.ids.length;
  const words = deliveriesWords(count);
  const isOne = count === 1;
  const profile = useProfile();
  const only = profile === undefined ? {} : { profile };
  const choice: BulkChoice =
    subject.kind === 'group' ? defined({ key: subject.key, since: subject.since, ...only }) : { ids: subject.ids };
  const close = (): void => {
    setAsked(undefined);
    setReason('');
  };

  async function act(while_: string, run: () => Promise<void>): Promise<void> {
    const change = (): Promise<void> => run().then(onDone);
    if (await attempt(while_, change, (refusal) => announce(failureWords('Nothing was changed', refusal), true)))
      close();
  }

  const noted = reason.trim() === '' ? {} : { reason: reason.trim() };
  const retry = (): void =>
    void act('Retrying…', async () => {
      const answer = await call('deliveries.retry', { ...choice, ...(subject.isUnsure ? { force: true } : {}) });
      if ('done' in answer) follow(answer);
    });
  const drop = (): void =>
    void act('Dropping…', async () => {
      const answer = await call('deliveries.drop', { ...choice, ...noted });
      if ('done' in answer) announceCounts('dropped', answer);
    });
  const confirm = (): void =>
    void act('Saving…', async () => {
      announceCounts('marked as delivered', await call('deliveries.confirm', { ...choice, ...noted }));
    });

  const verbs: FailureVerbs = {
    retry: () => (subject.isUnsure || count > askAbove ? setAsked('retry') : retry()),
    drop: () => setAsked('drop'),
    resolve: () => setAsked('resolve'),
  };
  const reasonField = <Field label="Reason (optional, kept with the delivery)" value={reason} onInput={setReason} />;
  const target = subject.kind === 'group' ? inQuotes(subject.title.replaceAll('`', '')) : subject.place;

  return (
    <>
      {draw(verbs)}
      {asked === 'retry' ? (
        <Confirm
          title={`Retry ${words}?`}
          yes={`Retry ${words}`}
          busy={busy}
          danger={false}
          onYes={retry}
          onClose={close}
        >
          <p>
            {subject.isUnsure
              ? isOne
                ? 'It may have arrived. Look at the target first: a retry can post it twice.'
                : 'They may have arrived. Look at the target first: a retry can post each of them twice.'
              : `All of ${target} are sent again, in the order in which they were queued.`}
          </p>
        </Confirm>
      ) : null}
      {asked === 'drop' ? (
        <Confirm title={`Drop ${words} of ${target}?`} yes={`Drop ${words}`} busy={busy} onYes={drop} onClose={close}>
          <p>
            {isOne
              ? 'It will not be sent. The event and its text stay in the history, and it can be replayed from there.'
              : 'They will not be sent. The events and their texts stay in the history, and each can be replayed from there.'}
          </p>
          {reasonField}
        </Confirm>
      ) : null}
      {asked === 'resolve' ? (
        <Dialog title={`Resolve ${words}`} onClose={close}>
          <p>
            {isOne
              ? 'Whether it arrived is not known. Look at the target, then say what is true.'
              : 'Whether they arrived is not known. Look at the target, then say what is true of all of them.'}
          </p>
          {reasonField}
          <div class="btns">
            <Button data-first disabled={busy !== undefined} onClick={close}>
              Cancel
            </Button>
            <Button class="risky" disabled={busy !== undefined} onClick={drop}>
              Drop
            </Button>
            <Button disabled={busy !== undefined} onClick={retry}>
              Retry
            </Button>
            <Button class="primary" disabled={busy !== undefined} onClick={confirm}>
              {busy ?? 'It arrived'}
            </Button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

function announceCounts(verb: string, { done, skipped }: Bulk): void {
  const words = `${done.length === 1 ? 'Delivery' : deliveriesWords(done.length)} ${verb}.`;
  announce(`${words}${skippedWords(skipped, verb)}`, skipped.length > 0);
}
