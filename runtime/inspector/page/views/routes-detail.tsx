/**
 * One route: its address, what it receives and does, its events of a day, and its refused requests.
 * @see INS-4, SRC-5 and HOME-4 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { searchIn, withFilter } from '../../../../machines/base/event-query.ts';
import type { EventBucket } from '../../../control/contract/events.ts';
import type { RouteDetail, RouteHeld, RouteMark } from '../../../control/contract/routes.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { copyText } from '../data/copy-text.ts';
import { formatTargets } from '../data/event-words.ts';
import { counted, formatWord, sentenceCase } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { profiles, routesVersion } from '../data/live.ts';
import { goWithin } from '../data/place.ts';
import { call, useKept } from '../data/rpc.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Acts } from '../parts/acts.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { Clock, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { type MarkName, Status, StatusChip } from '../parts/chip.tsx';
import { Code } from '../parts/code.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Headline, MetaFact, MetaTime } from '../parts/headline.tsx';
import { Icon } from '../parts/icons.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer, Banner, Facts, FoldLine, Panel } from '../parts/panel.tsx';
import { Bars, type Bucket } from '../parts/plot.tsx';
import { SubscriptionDialog } from './routes-subscription.tsx';
import { type RouteChosen, RouteTest } from './routes-test.tsx';

export const routeMarks: Readonly<Record<RouteMark, readonly [MarkName, string]>> = {
  healthy: ['healthy', 'Healthy'],
  retrying: ['retrying', 'Retrying'],
  failing: ['failed', 'Failing'],
  held: ['waiting', 'Held'],
  disabled: ['disabled', 'Disabled'],
  quiet: ['ignored', 'No events yet'],
};

const whyHeld: Readonly<Record<NonNullable<RouteDetail['held']>, string>> = {
  held: 'the route is held. They begin once you release it.',
  concurrency: 'the concurrency of the route is 0. They begin once you raise it, or take it out.',
  'agent.concurrency': 'agent.concurrency is 0. They begin once you raise it, or take it out.',
};

const changing = /^(webhookRequest|agentRun|delivery)$/;

interface RoutePaneProps extends RouteChosen {
  readonly mark: RouteMark;
  readonly onChanged: () => void;
}

export function RoutePane({ name, profile, mark, onChanged }: RoutePaneProps): JSX.Element {
  const chosen = { name, profile };
  const { asked, again, failed } = useKept(
    useFollowed(changing, `route ${profile}/${name}`, () => call('webhook.show', chosen)),
  );
  useEffect(() => routesVersion.onChange(again), [again]);
  return (
    <Answer {...{ asked, again, failed }} what={`Route ${name}`}>
      {(route) => (
        <>
          <RouteHead
            route={route}
            mark={mark}
            chosen={chosen}
            onChanged={() => {
              again();
              onChanged();
            }}
          />
          {route.problem === undefined ? null : (
            <Banner mark="waiting">{withCode(`The route ${route.problem}.`)}</Banner>
          )}
          {route.held === undefined ? null : (
            <Banner mark="waiting">{`Events are accepted, and their runs wait: ${whyHeld[route.held]}`}</Banner>
          )}
          <Address url={route.url} />
          <div class="cols2">
            <Receiving route={route} />
            <Acting route={route} />
          </div>
          <Day name={name} profile={profile} />
          <div class="cols2">
            <Acts>
              <RouteTest chosen={chosen} onDone={onChanged} />
            </Acts>
            <RefusedOnes chosen={chosen} />
          </div>
        </>
      )}
    </Answer>
  );
}

interface HeadProps {
  readonly route: RouteDetail;
  readonly mark: RouteMark;
  readonly chosen: RouteChosen;
  readonly onChanged: () => void;
}

function RouteHead({ route, mark, chosen, onChanged }: HeadProps): JSX.Element {
  const [asking, setAsking] = useState<'disable' | 'hold' | 'remove' | 'edit'>();
  const { busy, refused, attempt } = useAttempt();
  const [shape, word] = routeMarks[mark];
  const { place, last_24h: day, last_event_at: last } = route;
  const isDynamic = route.source === 'dynamic';
  const isOfSeveral = useCell(profiles) !== undefined;
  const ofRoute = withFilter('', 'route', [route.name]);
  const inProfile = searchIn(ofRoute, chosen.profile);

  /** @param done what is announced, unless the work resolves with words of its own */
  async function act(words: string, done: string, work: () => Promise<unknown>): Promise<void> {
    const isBegun = await attempt(words, async () => {
      const said = await work();
      announce(typeof said === 'string' ? said : done);
      onChanged();
    });
    if (!isBegun) return;
    // Another dialog may have been opened meanwhile.
    setAsking((now) => (now === asking ? undefined : now));
  }

  return (
    <>
      <Headline
        title={route.name}
        chip={<StatusChip mark={shape}>{word}</StatusChip>}
        meta={
          <>
            <MetaFact name="From">
              {place?.line === undefined ? place?.file : `${place.file}, line ${place.line}`}
            </MetaFact>
            {last === undefined ? null : <MetaTime name="Last event" at={last} />}
            {day === undefined || day.total === 0 ? null : (
              <MetaFact name="Failed in 24 h">{Number(((day.failed / day.total) * 100).toFixed(1))} %</MetaFact>
            )}
          </>
        }
      >
        <a class="btn" href={hashOf('events', '', { q: isOfSeveral ? inProfile : ofRoute })}>
          <Icon name="events" />
          Show events
        </a>
        <Acts>
          {isDynamic ? (
            <>
              <Button onClick={() => setAsking('edit')}>Edit…</Button>
              <Button class="risky" onClick={() => setAsking('remove')}>
                Remove…
              </Button>
            </>
          ) : null}
          {route.definition.held === true ? (
            <Button
              disabled={busy !== undefined}
              onClick={() =>
                void act('Releasing…', 'Route released.', async () =>
                  changedWords(await call('webhook.release', chosen)),
                )
              }
            >
              Release
            </Button>
          ) : route.definition.deliverOnly ? null : (
            <Button onClick={() => setAsking('hold')}>Hold…</Button>
          )}
          {route.enabled === false ? (
            <Button
              icon="power"
              disabled={busy !== undefined}
              onClick={() => void act('Enabling…', 'Route enabled.', () => call('webhook.enable', chosen))}
            >
              Enable
            </Button>
          ) : (
            <Button icon="power" onClick={() => setAsking('disable')}>
              Disable…
            </Button>
          )}
        </Acts>
      </Headline>
      {asking === 'disable' ? (
        <Confirm
          title={`Disable ${route.name}?`}
          yes="Disable the route"
          busy={busy}
          onYes={() => void act('Disabling…', 'Route disabled.', () => call('webhook.disable', chosen))}
          onClose={() => setAsking(undefined)}
        >
          <p>
            Its senders get 403 from now on, and most do not send those events again. Runs and deliveries in progress
            end as usual. {isDynamic ? 'The subscription' : 'The route in config.yaml'} gets <code>enabled: false</code>
            ; it can be enabled here at any time.
          </p>
        </Confirm>
      ) : null}
      {asking === 'hold' ? (
        <Confirm
          title={`Hold ${route.name}?`}
          yes="Hold the route"
          busy={busy}
          danger={false}
          onYes={() =>
            void act('Holding…', 'Route held.', async () => changedWords(await call('webhook.hold', chosen)))
          }
          onClose={() => setAsking(undefined)}
        >
          <p>
            {route.enabled === false
              ? 'It is disabled: its senders get 403 until you enable it. Runs of events that came before'
              : 'Its events are accepted and kept, and their runs'}{' '}
            wait until you release the route, also across restarts. Runs in progress continue.{' '}
            {isDynamic ? 'The subscription' : 'The route in config.yaml'} gets <code>held: true</code>.
          </p>
        </Confirm>
      ) : null}
      {asking === 'remove' ? (
        <Confirm
          title={`Remove ${route.name}?`}
          yes="Remove the subscription"
          busy={busy}
          onYes={() =>
            void act('Removing…', 'Subscription removed.', async () => {
              await call('webhook.remove', chosen);
              goWithin('routes');
            })
          }
          onClose={() => setAsking(undefined)}
        >
          <p>
            The subscription and its secret are deleted; its senders get 404. A new one of the same name has another
            secret. Its events stay in the history.
          </p>
        </Confirm>
      ) : null}
      {asking === 'edit' ? (
        <SubscriptionDialog route={route} onClose={() => setAsking(undefined)} onDone={onChanged} />
      ) : null}
      <WhyNot refused={refused} />
    </>
  );
}

/** Where a hold or a release has not led to what its button says. */
function changedWords({ not_in_force: why, held_by: by }: RouteHeld): string | undefined {
  if (why !== undefined) return `Written, but not in force: ${why}`;
  return by === undefined ? undefined : `Released, but its runs still wait: ${by} is 0.`;
}

function Address({ url }: { readonly url: string }): JSX.Element {
  return (
    <div class="panel address">
      <span class="muted small">POST</span>
      <code class="grow cut">{url}</code>
      <Button icon="copy" onClick={() => void copyText(url)}>
        Copy URL
      </Button>
    </div>
  );
}

function Receiving({ route }: { readonly route: RouteDetail }): JSX.Element {
  const { secret, events, filter_words: filters = [], limits = [] } = route;
  const facts: (readonly [string, ComponentChildren])[] = [
    ['Source', route.source_words],
    [
      'Secret',
      secret?.set === true ? (
        <>
          <Status mark="delivered">Set</Status> <span class="muted">from {secret.from}</span>
        </>
      ) : (
        <Status mark="waiting">Not checked</Status>
      ),
    ],
    ['Event types', events.length === 0 ? 'All' : <code>{events.join(', ')}</code>],
    [
      'Filter',
      filters.length === 0 ? <span class="muted">None</span> : filters.map((one) => <div key={one}>{one}</div>),
    ],
    ['Limits', limits.map((one) => <div key={one}>{one}</div>)],
  ];
  return (
    <Panel title="Receiving">
      <div class="pad">
        <Facts facts={facts} />
      </div>
    </Panel>
  );
}

function Acting({ route }: { readonly route: RouteDetail }): JSX.Element {
  const { definition, deliver } = route;
  const { cronJob, deliverOnly, toolsets, onFailure, prompt, skills, deliverTo = [definition] } = definition;
  const isFollowed = deliverTo.some(({ on }) => on?.includes('failed') === true);
  const notified = [...(onFailure === undefined ? [] : [onFailure]), ...(isFollowed ? ['http'] : [])].join(', ');
  const does =
    cronJob !== undefined ? `Fires the job ${cronJob}` : deliverOnly ? 'Delivers the text' : 'Runs the agent';
  const facts: (readonly [string, ComponentChildren])[] = [
    ['Does', does],
    ['Tools', deliverOnly ? undefined : toolsets === undefined ? 'The default toolset' : toolsets.join(', ') || 'None'],
    ['Skills', skills.length === 0 ? undefined : skills.join(', ')],
    ['Delivers to', formatTargets(deliver)],
    ['If a run fails', deliverOnly ? undefined : formatTargets(notified) || <span class="muted">No notice</span>],
  ];
  return (
    <Panel title="Acting">
      <div class="pad">
        <Facts facts={facts} />
      </div>
      {prompt === undefined ? null : (
        <FoldLine title="Template of the prompt" beside={prompt}>
          <Code text={prompt} label="Template of the prompt" />
        </FoldLine>
      )}
    </Panel>
  );
}

function Day({ name, profile }: RouteChosen): JSX.Element {
  const { asked, again } = useFollowed(changing, `day ${profile}/${name}`, () =>
    call('events.search', { q: searchIn(withFilter('', 'route', [name]), profile), range: '24h', limit: 1 }),
  );
  return (
    <Panel title="Events in the last 24 hours" bare>
      <div class="pad day">
        <Answer asked={asked} again={again} what="The events">
          {({ buckets, total, counts }) => (
            <Bars
              buckets={buckets.map(bucketOf)}
              height={72}
              sentence={`${counted(total, 'event')} in 24 hours, ${counts.failed} failed or refused`}
            />
          )}
        </Answer>
      </div>
    </Panel>
  );
}

function bucketOf({ at, delivered, ignored, open, failed }: EventBucket): Bucket {
  const time = new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  return { at: time, delivered, ignored, open, failed };
}

function RefusedOnes({ chosen }: { readonly chosen: RouteChosen }): JSX.Element {
  const { asked, again } = useFollowed(changing, `refused ${chosen.profile}/${chosen.name}`, () =>
    call('webhook.doctor', chosen),
  );
  return (
    <Panel title="Refused requests" beside={<span class="muted small">the last of each reason</span>}>
      <Answer asked={asked} again={again} what="The refused requests">
        {({ refusals }) =>
          refusals.length === 0 ? (
            <p class="pad muted">None since the gateway started.</p>
          ) : (
            <ul class="refusals">
              {refusals.map(({ key, outcome, received_at, findings }) => (
                <li key={key} class="pad">
                  <Status mark="refused">{sentenceCase(formatWord(outcome))}</Status>{' '}
                  <span class="muted num">
                    <Clock at={received_at} />
                  </span>
                  {findings.map(({ code, text }) => (
                    <p key={code} class="small">
                      {withCode(text)}
                    </p>
                  ))}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}
