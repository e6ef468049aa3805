/** The dialogs of the events: a test event for a route, and a custom range. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import { idInAnswer } from '../data/event-words.ts';
import { localTime } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { go } from '../data/place.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { type Refusal, WhyNot } from '../parts/needs-fresh.tsx';

const plain = '';

interface TestEventProps {
  readonly routes: readonly { readonly name: string; readonly profile: string }[];
  readonly onClose: () => void;
}

export function TestEvent({ routes, onClose }: TestEventProps): JSX.Element {
  /** By its name, because the list may change meanwhile. */
  const [chosen, choose] = useState(() => routes.slice(0, 1).map(idOf).join());
  const [sample, setSample] = useState(plain);
  const { busy, refused, attempt } = useAttempt();
  const [answer, setAnswer] = useState<Refusal>();
  const route = routes.find((one) => idOf(one) === chosen) ?? (chosen === '' ? routes[0] : undefined);
  const samples = useAsked(`samples ${route?.profile}/${route?.name}`, async () =>
    route === undefined ? { samples: [] } : call('webhook.samples', route),
  );
  const offered = samples.asked.kind === 'there' ? samples.asked.value.samples : [];

  const send = (): Promise<unknown> =>
    attempt('Sending…', async () => {
      setAnswer(undefined);
      if (route === undefined) return;
      const { status, body } = await call('webhook.test', { ...route, ...(sample === plain ? {} : { sample }) });
      if (status < 300) {
        const show = { label: 'Show', run: () => go('events', idInAnswer(body)) };
        announce(`Test event sent to ${route.name}.`, false, show);
        onClose();
      } else setAnswer({ why: `The gateway answered ${status}: ${body.slice(0, 200)}`, code: '' });
    });

  return (
    <Dialog title="Send test event" onClose={onClose}>
      {route === undefined ? (
        <p class="pad">
          {chosen === '' ? (
            <>
              There is no route yet. Add one in <a href={hashOf('routes')}>Routes</a>.
            </>
          ) : (
            `${chosen} is not configured any more.`
          )}
        </p>
      ) : (
        <div class="pad stack">
          <Select
            label="Route"
            value={idOf(route)}
            options={routes.map((one) => [
              idOf(one),
              one.profile === 'default' ? one.name : `${one.name} (${one.profile})`,
            ])}
            onChoose={(next) => {
              choose(next);
              setSample(plain);
            }}
          />
          <Select
            label="Event"
            hint="It runs as a real one."
            value={sample}
            options={[[plain, 'A small test payload'], ...offered.map((name): [string, string] => [name, name])]}
            onChoose={setSample}
          />
          <WhyNot refused={refused ?? answer} />
        </div>
      )}
      <footer class="btns">
        <Button onClick={onClose}>Cancel</Button>
        {route === undefined ? null : (
          <Button class="primary" aria-disabled={busy !== undefined} onClick={() => void send()}>
            {busy ?? 'Send test event'}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

function idOf({ name, profile }: { readonly name: string; readonly profile: string }): string {
  return `${profile}/${name}`;
}

interface CustomRangeProps {
  readonly from: string;
  readonly to: string;
  readonly onChoose: (range: string) => void;
  readonly onClose: () => void;
}

/** A range between two local times. */
export function CustomRange({ from, to, onChoose, onClose }: CustomRangeProps): JSX.Element {
  const [begin, setBegin] = useState(localTime(from));
  const [end, setEnd] = useState(localTime(to));
  const beginMs = Date.parse(begin);
  const endMs = Date.parse(end);
  const isRange = endMs > beginMs;
  return (
    <Dialog title="Custom range" onClose={onClose}>
      <div class="pad stack">
        <label class="field">
          <span>From</span>
          <input
            type="datetime-local"
            step="1"
            value={begin}
            onInput={(event) => setBegin(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>To</span>
          <input type="datetime-local" step="1" value={end} onInput={(event) => setEnd(event.currentTarget.value)} />
        </label>
        {isRange ? null : (
          <p class="fault" role="status">
            The end must come after the beginning.
          </p>
        )}
      </div>
      <footer class="btns">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          class="primary"
          aria-disabled={!isRange}
          onClick={() => isRange && onChoose(`${new Date(beginMs).toISOString()}..${new Date(endMs).toISOString()}`)}
        >
          Show events
        </Button>
      </footer>
    </Dialog>
  );
}
