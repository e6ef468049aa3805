/** The step of the target: the platform for results, with its token. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import type { StepProps } from '../data/first-steps.ts';
import { call } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/choice.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Picks } from '../parts/picks.tsx';

const channelHints: Readonly<Record<string, string>> = {
  slack: 'A channel, such as C0123456789. Invite the bot there.',
  telegram: 'A number, or @name of a channel.',
  discord: "A channel's number.",
};

export function TargetStep({ setup: { targets }, again, hold }: StepProps): JSX.Element {
  const [name, setName] = useState('slack');
  const [token, setToken] = useState('');
  const [channel, setChannel] = useState('');
  const change = useAttempt();
  const title = targets.find((one) => one.name === name)?.title ?? name;
  const write = async (): Promise<void> => {
    hold();
    const home_channel = channel.trim();
    await call('setup.target', { target: name, token: token.trim(), ...(home_channel === '' ? {} : { home_channel }) });
    setToken('');
    announce(`${title} is set up. Set deliver: ${name} on a route to send its results there.`);
    again();
  };
  return (
    <>
      <Picks label="Target" value={name} options={targets} onChoose={setName} />
      <div class="cols2">
        <Field label="Bot token" mono secret value={token} onInput={setToken} />
        <Field label="Channel" mono value={channel} onInput={setChannel} hint={channelHints[name]} />
      </div>
      <p class="hint">
        {withCode(
          `The token is written to \`.env\` as \`${name.toUpperCase()}_TOKEN\`, the platform to \`config.yaml\`, comments kept. Email, GitHub comments and the other targets are set up in \`config.yaml\`.`,
        )}
      </p>
      <WhyNot refused={change.refused} />
      <div class="btns">
        <Button
          class="primary tall"
          disabled={change.busy !== undefined || token.trim() === ''}
          onClick={() => change.attempt('Writing…', write)}
        >
          {change.busy ?? `Set up ${title}`}
        </Button>
      </div>
    </>
  );
}
