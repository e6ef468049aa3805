/** The step of the tool server: a server of another program on this computer, or a new one. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import type { StepProps } from '../data/first-steps.ts';
import { counted } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Check } from '../parts/choice.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer } from '../parts/panel.tsx';

export function ServerStep({ again, hold }: StepProps): JSX.Element {
  const { asked, again: askAgain } = useAsked('importable', () => call('mcp.importable', {}));
  const [left, setLeft] = useState<readonly string[]>([]);
  const change = useAttempt();
  return (
    <Answer asked={asked} again={askAgain} what="The servers of other programs">
      {(found) => {
        const offered = found.filter(({ standing }) => standing === 'new' || standing === 'taken');
        const names = offered.map(({ name }) => name).filter((name) => !left.includes(name));
        const add = async (): Promise<void> => {
          hold();
          const { added, failed } = await call('mcp.import', { names });
          const [first] = failed;
          if (first !== undefined) announce(`${first.name} was not added: ${first.why}`, true);
          else announce(`${counted(added.length, 'server')} added.`);
          askAgain();
          again();
        };
        return (
          <>
            {offered.length === 0 ? (
              <p class="hint">No server of another agent program was found here.</p>
            ) : (
              <ul class="offers">
                {offered.map(({ name, program, missing, notes }) => (
                  <li key={name}>
                    <Check
                      checked={!left.includes(name)}
                      onChange={(isChosen) => setLeft(isChosen ? left.filter((one) => one !== name) : [...left, name])}
                    >
                      <b class="strong">{name}</b> <span class="muted small">from {program}</span>
                    </Check>
                    {[...missing.map((variable) => `Set \`${variable}\` in \`.env\`.`), ...notes].map((words) => (
                      <p key={words} class="hint">
                        {withCode(words)}
                      </p>
                    ))}
                  </li>
                ))}
              </ul>
            )}
            <p class="hint">
              {withCode(
                'Its entry is written to `config.yaml`, its secrets to `.env`. What is imported starts at once.',
              )}
            </p>
            <WhyNot refused={change.refused} />
            <div class="btns">
              {offered.length === 0 ? null : (
                <Button
                  class="primary tall"
                  disabled={change.busy !== undefined || names.length === 0}
                  onClick={() => change.attempt('Importing…', add)}
                >
                  {change.busy ?? `Import ${names.length}`}
                </Button>
              )}
              <a class="btn tall" href={hashOf('servers', '', { add: '1' })}>
                Add server…
              </a>
            </div>
          </>
        );
      }}
    </Answer>
  );
}
