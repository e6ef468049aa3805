/**
 * Targets: the platforms with the states of their connections, and the number of their failed deliveries, with a link to
 * those failures.
 * @see DLV-4 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import type { TargetRow } from '../../../control/contract/deliveries.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { counted, formatCountdown, formatWord, sentenceCase } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { profiles } from '../data/live.ts';
import { call } from '../data/rpc.ts';
import { standingOfState } from '../data/standing.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { withCode } from '../parts/basics.tsx';
import { Chip, Mark } from '../parts/chip.tsx';
import { Headline, MetaTime, Why } from '../parts/headline.tsx';
import { Answer, Empty, Facts } from '../parts/panel.tsx';
import { ListAndPane, useListing } from './list-and-pane.tsx';

const changing = /^platformConnection$/;
const failing = /^delivery$/;

export function Targets({ place }: { readonly place: Place }): JSX.Element {
  const asking = useFollowed(changing, 'targets', () => call('deliveries.targets'));
  const listing = useListing(asking, place);
  return (
    <ListAndPane
      view="targets"
      {...{ listing, place }}
      none={
        <Empty
          title="No targets yet."
          acts={
            <a class="btn primary" href={hashOf('overview', 'first-steps')}>
              Set up a target
            </a>
          }
        >
          Results are written to the log.
        </Empty>
      }
      unchosen={<Empty title="Choose a target">Its state and what has not arrived there are shown here.</Empty>}
      link={(row) => <TargetLink row={row} />}
    >
      {(row) => (
        <>
          <TargetHead row={row} />
          <NotArrived target={row.target} profile={row.profile} />
        </>
      )}
    </ListAndPane>
  );
}

function TargetLink({ row }: { readonly row: TargetRow }): JSX.Element {
  const { state, account, waiting = 0 } = row;
  return (
    <>
      <Mark standing={standingOfState(state)} />
      <span class="a cut">{titleOf(row)}</span>
      <span class="c">{sentenceCase(formatWord(state))}</span>
      <span />
      <span class="b cut">{withCode(ownReason(row) ?? account ?? '')}</span>
      <span class="c num">{waiting === 0 ? '' : `${waiting.toLocaleString('en')} waiting`}</span>
    </>
  );
}

/** Formats the title with the target's own name, if it has one, and its profile. */
function titleOf({ title, name, target, profile }: TargetRow): string {
  const parts = [title, ...(name === target ? [] : [name]), ...(profile === 'default' ? [] : [profile])];
  return parts.join(' · ');
}

/** Returns the reason without the target's name, which is above it. */
function ownReason({ name, error, note }: TargetRow): string | undefined {
  const why = error ?? note;
  return why?.startsWith(`${name}: `) === true ? sentenceCase(why.slice(name.length + 2)) : why;
}

function TargetHead({ row }: { readonly row: TargetRow }): JSX.Element {
  const now = useNow();
  const standing = standingOfState(row.state);
  return (
    <>
      <Headline
        title={titleOf(row)}
        chip={<Chip standing={standing} text={sentenceCase(formatWord(row.state))} />}
        meta={<MetaTime name="Since" at={row.since} />}
      />
      <Why standing={standing} why={ownReason(row)} />
      <Facts
        facts={[
          ['Account', row.account],
          ['Home channel', row.home_channel],
          ['Profile', row.profile === 'default' ? undefined : row.profile],
          ['Waiting', (row.waiting ?? 0).toLocaleString('en')],
          [
            'Paused',
            row.paused_until &&
              `resumes in ${formatCountdown(Date.parse(row.paused_until) - now)}: ${row.pause_reason ?? ''}`,
          ],
        ]}
      />
    </>
  );
}

/** The number of the target's failed deliveries, with a link to them; those still being retried are not counted. */
function NotArrived({ target, profile }: Pick<TargetRow, 'target' | 'profile'>): JSX.Element {
  const { asked, again } = useFollowed(failing, `failures by target ${profile}`, () =>
    call('failures.groups', { by: 'target', profile }),
  );
  const isOfSeveral = useCell(profiles) !== undefined;
  return (
    <Answer asked={asked} again={again} what="The deliveries">
      {({ groups }) => {
        const group = groups.find((one) => one.target === target);
        return group === undefined ? (
          <p class="muted">No failed deliveries.</p>
        ) : (
          <p>
            <a href={hashOf('failures', group.key, { by: 'target', ...(isOfSeveral ? { profile } : {}) })}>
              {counted(group.count, 'delivery has', 'deliveries have')} not arrived
            </a>
          </p>
        );
      }}
    </Answer>
  );
}
