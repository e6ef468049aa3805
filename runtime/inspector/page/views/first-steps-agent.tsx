/** The step of the agent: a program that was found here, and what is written into config.yaml for it. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import type { StepProps } from '../data/first-steps.ts';
import { call } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { CopyBox } from '../parts/copy-box.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Picks } from '../parts/picks.tsx';

export function AgentStep({ setup: { agents }, again, hold }: StepProps): JSX.Element {
  const [program, setProgram] = useState(agents[0]?.program);
  const change = useAttempt();
  const chosen = agents.find((one) => one.program === program) ?? agents[0];
  if (chosen === undefined) {
    return (
      <p class="hint">
        {withCode(
          'No agent program was found on PATH (`claude`, `codex`, `goose`, `opencode`). Install one, or name any program as `agent.command` in `config.yaml`: it reads the prompt from its standard input and prints the answer. A model without a program is `agent.runner: model`.',
        )}
      </p>
    );
  }
  const write = async (): Promise<void> => {
    hold();
    await call('setup.agent', { program: chosen.program });
    announce(`${chosen.title} answers events from now on.`);
    again();
  };
  return (
    <>
      <Picks
        label="Agent"
        value={chosen.program}
        options={agents.map((one) => ({ name: one.program, title: one.title }))}
        onChoose={setProgram}
      />
      <CopyBox
        label="Written to config.yaml, comments kept"
        text={`agent:\n  runner: command\n  command: ${JSON.stringify(chosen.command)}`}
      />
      {chosen.note === undefined ? null : <p class="hint">{withCode(chosen.note)}</p>}
      <p class="hint">It runs on this computer with your rights, once for each event that a route accepts.</p>
      <WhyNot refused={change.refused} />
      <div class="btns">
        <Button
          class="primary tall"
          disabled={change.busy !== undefined}
          onClick={() => change.attempt('Writing…', write)}
        >
          {change.busy ?? `Use ${chosen.title}`}
        </Button>
      </div>
    </>
  );
}
