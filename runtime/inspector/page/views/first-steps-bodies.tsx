/**
 * The content of each first step: a route and a sample through it, the agent's program, servers of other programs, and the
 * platform for results.
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { profileOption } from '../../../../machines/base/names.ts';
import type { RouteChoice } from '../../../control/contract/routes.ts';
import type { SourceChoice } from '../../../control/contract/setup.ts';
import { announce } from '../data/announce.ts';
import { idInAnswer } from '../data/event-words.ts';
import type { StepProps } from '../data/first-steps.ts';
import { counted } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { go, goWithin } from '../data/place.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Check, Field } from '../parts/choice.tsx';
import { CopyBox } from '../parts/copy-box.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer } from '../parts/panel.tsx';
import { Picks } from '../parts/picks.tsx';

/** Shown immediately; the others after "more". */
const firstSources: readonly string[] = ['github', 'gitlab', 'stripe', 'slack', 'linear', 'sentry'];
const namePattern = /^[a-z0-9][a-z0-9_-]*$/;

interface Made {
  readonly name: string;
  readonly url: string;
  /** Absent if the provider sends it later. */
  readonly secret: string | undefined;
  /** Whether the secret was generated, not typed. */
  readonly isGenerated: boolean;
}

export function EventStep({ setup, again, hold }: StepProps): JSX.Element {
  /** Empty for an unknown sender. */
  const [source, setSource] = useState('github');
  const [isAll, setAll] = useState(false);
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const [secret, setSecret] = useState('');
  const [made, setMade] = useState<Made | undefined>(undefined);
  const change = useAttempt();
  const { profile } = setup;
  const chosen = setup.sources.find((one) => one.name === source);
  const name = typed ?? chosen?.name ?? 'events';
  const shown = isAll
    ? setup.sources
    : firstSources.flatMap((first) => setup.sources.filter((one) => one.name === first));
  const canSample = chosen === undefined || chosen.sample !== undefined;
  const base = setup.url ?? 'http://127.0.0.1:8644';
  /** A gateway that listens at all addresses of the computer is named by that of this computer too. */
  const isHere = base.startsWith('http://127.0.0.1');
  const isMissing = chosen?.secret_needed === true && secret === '';

  async function create(isTested: boolean): Promise<void> {
    hold();
    if (!setup.webhooks_enabled) await call('setup.webhooks');
    // With a route, the overview replaces the first steps; this address keeps them until the person leaves.
    goWithin('overview', 'first-steps');
    let route = made;
    if (route?.name !== name) {
      const record = {
        ...(chosen === undefined ? {} : { source: chosen.name }),
        ...(secret === '' ? {} : { secret }),
        deliver: 'log',
        description: 'Made in the first steps',
      };
      const answer = await call('webhook.subscribe', { name, record, profile });
      route = { name, url: answer.url, secret: answer.secret, isGenerated: secret === '' };
      setMade(route);
    }
    if (isTested) await sendSample({ name, profile }, chosen);
    else announce(`Route ${name} created.`, false, { label: 'Show', run: () => go('routes', `${profile}/${name}`) });
    again();
  }

  return (
    <>
      <Picks label="Source" value={source} options={shown} onChoose={setSource}>
        {isAll ? null : (
          <button type="button" class="pick" onClick={() => setAll(true)}>
            {setup.sources.length - shown.length} more…
          </button>
        )}
        <button type="button" class="pick" aria-pressed={source === ''} onClick={() => setSource('')}>
          Something else
        </button>
      </Picks>
      <div class="cols2">
        <Field
          label="Route name"
          mono
          value={name}
          onInput={setTyped}
          {...(namePattern.test(name) ? {} : { fault: 'Lower-case letters, digits, “-” and “_”' })}
        />
        <Field
          label={chosen?.secret_needed === true ? 'Signing secret' : 'Signing secret (empty: a new one is made)'}
          mono
          secret
          value={secret}
          onInput={setSecret}
        />
      </div>
      <p class="hint">
        {chosen === undefined ? (
          'The sender signs with HMAC-SHA256 of the body. '
        ) : (
          <>
            In {chosen.title}: {chosen.secret}.{' '}
            <a class="inline-link" href={chosen.page} target="_blank" rel="noreferrer">
              How {chosen.title} signs
            </a>
            .{' '}
          </>
        )}
        {withCode('The secret is kept in `webhook_subscriptions.json`, readable to you alone, never in `config.yaml`.')}
      </p>
      <CopyBox
        label="Webhook URL"
        text={
          made?.name === name ? made.url : `${base}${profile === 'default' ? '' : `/p/${profile}`}/webhooks/${name}`
        }
      />
      {made?.isGenerated === true && made.secret !== undefined ? (
        <CopyBox label="Signing secret, shown this once" text={made.secret} />
      ) : null}
      {made?.name === name && made.secret === undefined ? (
        <p class="hint">
          {withCode(
            `The address is shown this once. ${chosen?.title ?? 'The sender'} sends its token there, which becomes the secret. \`agent events show latest --route ${name}${profileOption(profile)}\` prints it: type it in at ${chosen?.title ?? 'the sender'}.`,
          )}
        </p>
      ) : null}
      <p class="hint">
        {setup.webhooks_enabled ? '' : withCode('Webhooks are switched on first, in `config.yaml`. ')}
        {setup.reachable && !isHere
          ? 'Other computers can reach this address where your network allows it.'
          : withCode(
              `${setup.reachable ? 'Other computers in your network need the name or address of this one in place of `127.0.0.1`.' : 'Only this computer can reach this address.'} For ${chosen?.title ?? 'another sender'}, put a tunnel or a reverse proxy in front of the gateway and set \`public_url\`. You can send a sample from here first.`,
            )}
      </p>
      <WhyNot refused={change.refused} />
      <div class="btns">
        <Button
          class="primary tall"
          disabled={change.busy !== undefined || !canSample || isMissing || !namePattern.test(name)}
          onClick={() => change.attempt('Creating…', () => create(true))}
        >
          {change.busy ?? (made?.name === name ? 'Send a sample' : 'Create route and send a sample')}
        </Button>
        {made?.name === name ? null : (
          <Button
            class="tall"
            disabled={change.busy !== undefined || isMissing || !namePattern.test(name)}
            onClick={() => change.attempt('Creating…', () => create(false))}
          >
            Create route only
          </Button>
        )}
      </div>
    </>
  );
}

async function sendSample(route: RouteChoice, source: SourceChoice | undefined): Promise<void> {
  const { status, body } = await call('webhook.test', {
    ...route,
    ...(source?.sample === undefined ? {} : { sample: source.sample }),
  });
  if (status >= 300) announce(`The sample was answered ${status}: ${body}`, true);
  else announce('The sample was accepted.', false, { label: 'Show', run: () => go('events', idInAnswer(body)) });
}

export function AgentStep({ setup: { agents, profile }, again, hold }: StepProps): JSX.Element {
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
    await call('setup.agent', { program: chosen.program, profile });
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

export function ServerStep({ setup: { profile }, again, hold }: StepProps): JSX.Element {
  const { asked, again: askAgain } = useAsked(`importable ${profile}`, () => call('mcp.importable', { profile }));
  const [left, setLeft] = useState<readonly string[]>([]);
  const change = useAttempt();
  return (
    <Answer asked={asked} again={askAgain} what="The servers of other programs">
      {(found) => {
        const offered = found.filter(({ standing }) => standing === 'new' || standing === 'taken');
        const names = offered.map(({ name }) => name).filter((name) => !left.includes(name));
        const add = async (): Promise<void> => {
          hold();
          const { added, failed, not_in_force: why } = await call('mcp.import', { names, profile });
          const [first] = failed;
          if (first !== undefined) announce(`${first.name} was not added: ${first.why}`, true);
          else if (why !== undefined)
            announce(`${counted(added.length, 'server')} written, but not in force: ${why}`, true);
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

const channelHints: Readonly<Record<string, string>> = {
  slack: 'A channel, such as C0123456789. Invite the bot there.',
  telegram: 'A number, or @name of a channel.',
  discord: "A channel's number.",
};

export function TargetStep({ setup: { targets, profile }, again, hold }: StepProps): JSX.Element {
  const [name, setName] = useState('slack');
  const [token, setToken] = useState('');
  const [channel, setChannel] = useState('');
  const change = useAttempt();
  const title = targets.find((one) => one.name === name)?.title ?? name;
  const write = async (): Promise<void> => {
    hold();
    const home_channel = channel.trim();
    const place = home_channel === '' ? { profile } : { profile, home_channel };
    await call('setup.target', { target: name, token: token.trim(), ...place });
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
