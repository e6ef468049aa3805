/**
 * The first steps of a home: five, the current one open. Each can be skipped and resumed. They replace the overview while
 * the home has no route; later one line leads to the remaining ones.
 * @see INS-4 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useCell } from '../data/cell.ts';
import {
  choices,
  isDone,
  type Setup,
  type StepName,
  type StepProps,
  skip,
  stepNames,
  stepsLeft,
  stepTitles,
} from '../data/first-steps.ts';
import { counted } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { useAgain } from '../data/use-nodes.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { Body } from '../parts/head.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { Answer, Panel } from '../parts/panel.tsx';
import { AgentStep, EventStep, ServerStep, TargetStep } from './first-steps-bodies.tsx';

const anything = /^(agentRun|webhookRequest|serverConnection|platformConnection|gateway)$/;

/** Each read looks for programs and other configurations on this computer. */
const lookMs = 5_000;

const bodies: Readonly<Record<StepName, (props: StepProps) => JSX.Element>> = {
  event: EventStep,
  agent: AgentStep,
  server: ServerStep,
  target: TargetStep,
};

/** Of the profile that the page shows; of the default one where it shows all. */
function useSetup(): readonly [key: string, ask: () => Promise<Setup>] {
  const profile = useProfile();
  return [`setup ${profile ?? ''}`, () => call('setup.read', profile === undefined ? {} : { profile })];
}

export function FirstSteps({ isRouteless }: { readonly isRouteless: boolean }): JSX.Element {
  const { asked, again } = useFollowed(anything, ...useSetup());
  return (
    <Body>
      <div class="first-steps stack">
        <Answer asked={asked} again={again} what="The first steps">
          {(setup) => <Steps key={setup.profile} setup={setup} again={again} isRouteless={isRouteless} />}
        </Answer>
      </div>
    </Body>
  );
}

function Steps({
  setup,
  again,
  isRouteless,
}: Omit<StepProps, 'hold'> & { readonly isRouteless: boolean }): JSX.Element {
  const chosen = useCell(choices);
  const left = stepsLeft(setup, chosen);
  const [asked, setAsked] = useState<StepName | undefined>(undefined);
  const mayAct = useMayAct();
  const open = mayAct ? (asked ?? left[0]) : undefined;
  return (
    <>
      <div class="welcome">
        <h2>{setup.url === null ? 'Your gateway is ready' : 'Your gateway is running'}</h2>
        <p class="muted">
          Webhooks come in, an agent works on them with your tools, and the result goes to Slack, GitHub or another
          target.{' '}
          {left.length === 0
            ? 'Nothing is left to set up.'
            : `${leftWords(left.length)}${mayAct ? '; each can be undone' : ' for the owner; this session may only read'}.`}{' '}
          {isRouteless ? null : (
            <a class="inline-link" href={hashOf('overview')}>
              Go to the overview
            </a>
          )}
        </p>
      </div>
      <div class="grid3 two">
        <section class="panel" aria-label="First steps">
          <Step number={1} title="Gateway started" state="done" words={<Started setup={setup} />} />
          {stepNames.map((name, at) => {
            const Content = bodies[name];
            const isSkipped = chosen.skipped.includes(name);
            const state = isDone(name, setup.done) ? 'done' : isSkipped ? 'skipped' : open === name ? 'now' : 'later';
            return (
              <Step
                key={name}
                number={at + 2}
                title={stepTitles[name]}
                state={state}
                words={wordsOf(name, setup)}
                isOpen={open === name}
                onOpen={() => {
                  if (isSkipped) skip(name, false);
                  setAsked(name);
                }}
                onClose={() => setAsked(undefined)}
                onSkip={() => {
                  skip(name, true);
                  setAsked(undefined);
                }}
              >
                <Content setup={setup} again={again} hold={() => setAsked(name)} />
              </Step>
            );
          })}
        </section>
        <WhatHappens />
      </div>
    </>
  );
}

function leftWords(left: number): string {
  return left === 1 ? 'One step is left' : `${['No', 'One', 'Two', 'Three', 'Four'][left] ?? left} steps are left`;
}

interface StepRowProps {
  readonly number: number;
  readonly title: string;
  readonly state: 'done' | 'skipped' | 'now' | 'later';
  readonly words: ComponentChildren;
  readonly isOpen?: boolean;
  readonly onOpen?: () => void;
  readonly onSkip?: () => void;
  readonly onClose?: () => void;
  readonly children?: ComponentChildren;
}

function Step({
  number,
  title,
  state,
  words,
  isOpen = false,
  onOpen,
  onSkip,
  onClose,
  children,
}: StepRowProps): JSX.Element {
  return (
    <div class={`step ${state}`}>
      <span class="no">{state === 'done' ? <Icon name="check" small /> : number}</span>
      <div>
        <h3>{title}</h3>
        <p class="muted small">{words}</p>
      </div>
      {state === 'done' ? (
        <div class="btns">
          <span class="status resting">Done</span>
          {isOpen ? <Button onClick={onClose}>Continue</Button> : null}
        </div>
      ) : (
        <div class="btns">
          <Acts>
            {state === 'skipped' ? <span class="muted small">Skipped</span> : null}
            {isOpen ? (
              <Button class="quiet" onClick={onSkip}>
                Not now<span class="unseen">: {title}</span>
              </Button>
            ) : (
              <Button onClick={onOpen}>
                {state === 'skipped' ? 'Undo' : 'Open'}
                <span class="unseen">: {title}</span>
              </Button>
            )}
          </Acts>
        </div>
      )}
      {isOpen ? <div class="more stack tight">{children}</div> : null}
    </div>
  );
}

function Started({ setup: { url, home } }: { readonly setup: Setup }): JSX.Element {
  return (
    <>
      {url === null ? (
        'It does not receive webhooks yet; the next step switches that on. '
      ) : (
        <>
          Listening on <code>{url}</code>.{' '}
        </>
      )}
      Data is kept in <code>{home}</code>.
    </>
  );
}

function wordsOf(name: StepName, { runner, agents, done }: Setup): ComponentChildren {
  switch (name) {
    case 'event':
      return 'Choose the source. The signature check, event types and delivery ids are set for you.';
    case 'agent':
      if (done.agent) return `Events are answered by the ${runner} runner.`;
      return (
        <>
          Until then, events are answered by <code>echo</code>, which returns the prompt.
          {agents.length === 0 ? '' : ` Found on this computer: ${agents.map(({ title }) => title).join(', ')}.`}
        </>
      );
    case 'server':
      return done.server
        ? 'Its tools are offered to the agent.'
        : 'MCP servers give the agent tools; those of other programs can be imported.';
    case 'target':
      return done.target ? 'A target is set up.' : 'Results are written to the log until a target is set up.';
  }
}

const phases: readonly (readonly [IconName, string, string])[] = [
  ['link', 'Request', 'Size, signature and duplicates are checked, then it is stored.'],
  ['filter', 'Filter and batch', 'Unwanted events end here. Events that belong together become one run.'],
  ['bolt', 'Run', 'The agent gets your prompt and your tools.'],
  ['approvals', 'Approval', 'Untrusted tools ask you first. The clock is paused.'],
  ['targets', 'Delivery', 'Retried until it arrives, or listed under Failures.'],
];

function WhatHappens(): JSX.Element {
  return (
    <Panel title="What happens to an event">
      <ol class="phases">
        {phases.map(([icon, title, words]) => (
          <li key={title}>
            <Icon name={icon} />
            <div>
              <b class="strong">{title}</b>
              <p class="muted small">{words}</p>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Under Needs attention: the remaining steps, until a person hides them. */
export function StepsLeft(): JSX.Element | null {
  const asking = useAsked(...useSetup());
  const { asked } = asking;
  const chosen = useCell(choices);
  const left = asked.kind === 'there' ? stepsLeft(asked.value, { ...chosen, skipped: [] }) : [];
  // With nothing to show, nothing is read again.
  const rests = chosen.hidden || (asked.kind === 'there' && left.length === 0);
  useAgain(rests ? { ...asking, asked: { kind: 'waiting' } } : asking, lookMs);
  if (chosen.hidden || left.length === 0) return null;
  return (
    <div class="todo ended">
      <StatusMark name="queued" />
      <div class="t">
        <b>{counted(left.length, 'first step is', 'first steps are')} left</b>
        <span>{left.map((name) => stepTitles[name]).join(' · ')}</span>
      </div>
      <span />
      <div class="btns">
        <a class="btn" href={hashOf('overview', 'first-steps')}>
          Show<span class="unseen"> the first steps</span>
        </a>
        <Button class="quiet" onClick={() => choices.set({ ...chosen, hidden: true })}>
          Hide<span class="unseen"> the first steps</span>
        </Button>
      </div>
    </div>
  );
}
