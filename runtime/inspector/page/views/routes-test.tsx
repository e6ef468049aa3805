/**
 * Sends a recorded sample to a route, signed as the route verifies it, and shows any answer.
 * @see SUB-4 and SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Result } from '../../../control/contract.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Check, Select } from '../parts/choice.tsx';
import { Code } from '../parts/code.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer, Panel } from '../parts/panel.tsx';

export interface RouteChosen {
  readonly name: string;
  readonly profile: string;
}

const own = 'A small test payload';

interface RouteTestProps {
  readonly chosen: RouteChosen;
  readonly onDone: () => void;
}

export function RouteTest({ chosen, onDone }: RouteTestProps): JSX.Element {
  const { asked, again } = useAsked(`samples ${chosen.profile}/${chosen.name}`, () => call('webhook.samples', chosen));
  const [sample, setSample] = useState<string>();
  const [checksOnly, setChecksOnly] = useState(true);
  const [answer, setAnswer] = useState<Result<'webhook.test'>>();
  const { busy, refused, attempt } = useAttempt();

  const send = (name: string): Promise<unknown> =>
    attempt('Testing…', async () => {
      setAnswer(undefined);
      setAnswer(
        await call('webhook.test', {
          ...chosen,
          ...(name === own ? {} : { sample: name }),
          ...(checksOnly ? { checks_only: true } : {}),
        }),
      );
      onDone();
    });

  return (
    <Panel title="Test">
      <div class="pad stack">
        <Answer asked={asked} again={again} what="The samples">
          {({ samples }) => {
            const names = [own, ...samples];
            const name = sample ?? samples[0] ?? own;
            return (
              <>
                <Select
                  label="Sample"
                  value={name}
                  options={names.map((one) => [one, one === own ? one : `${one} (recorded)`] as const)}
                  onChoose={setSample}
                />
                <Check checked={checksOnly} onChange={setChecksOnly}>
                  Stop after the checks
                  <span class="hint">Answered like a real request. No run, no delivery, no script.</span>
                </Check>
                <div class="btns">
                  <Button icon="bolt" class="primary" disabled={busy !== undefined} onClick={() => void send(name)}>
                    {busy ?? 'Send test event'}
                  </Button>
                  {answer === undefined ? null : (
                    <Status mark={answer.status < 300 ? 'delivered' : 'failed'} calm={answer.status < 300}>
                      HTTP {answer.status}
                    </Status>
                  )}
                </div>
              </>
            );
          }}
        </Answer>
        <div aria-live="polite">
          {answer === undefined ? null : <Code text={answer.body} label={`Answer, HTTP ${answer.status}`} json />}
          {answer?.note === undefined ? null : <p class="hint">{answer.note}</p>}
        </div>
        <WhyNot refused={refused} />
      </div>
    </Panel>
  );
}
