/**
 * The views that list items and show the opened one beside the list: routes, servers, targets, schedules.
 * @see INS-2 in docs/specification.md
 */

import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { counted, sentenceCase } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { go } from '../data/place.ts';
import { rowsOf, useProfile } from '../data/profile.ts';
import type { Asking } from '../data/rpc.ts';
import { useWords } from '../data/use-words.ts';
import { Acts } from '../parts/acts.tsx';
import { SearchField } from '../parts/choice.tsx';
import { Head } from '../parts/head.tsx';
import { Answer, Empty } from '../parts/panel.tsx';
import { Split } from '../parts/split.tsx';

interface Listing<Row> {
  readonly asking: Asking<readonly Row[]> & { readonly failed?: string };
  /** The rows of all profiles: a link may lead to one of another profile. */
  readonly every: readonly Row[];
  /** The rows of the shown profile, in order. */
  readonly all: readonly Row[];
  /** Those of them that the typed words leave. */
  readonly rows: readonly Row[];
  /** The field of these words; absent for a list without one. */
  readonly filter: { readonly words: string; readonly type: (words: string) => void } | undefined;
}

export function useListing<Row extends { readonly profile?: string }>(
  asking: Listing<Row>['asking'],
  place: Place,
  {
    sorted = (rows) => rows,
    textOf,
  }: {
    readonly sorted?: (rows: readonly Row[]) => readonly Row[];
    /** The text in which the typed words are looked for; absent for a list without a filter. */
    readonly textOf?: (row: Row) => string;
  } = {},
): Listing<Row> {
  const [words, type] = useWords(place);
  const profile = useProfile();
  const every = asking.asked.kind === 'there' ? asking.asked.value : [];
  const all = sorted(rowsOf(every, profile));
  if (textOf === undefined) return { asking, every, all, rows: all, filter: undefined };
  const wanted = words.trim().toLowerCase();
  const rows = all.filter((row) => textOf(row).toLowerCase().includes(wanted));
  return { asking, every, all, rows, filter: { words, type } };
}

export function ListAndPane<Row extends { readonly name: string; readonly profile?: string }>({
  view,
  listing: { asking, every, all, rows, filter },
  place: { chosen },
  at = chosen,
  label = sentenceCase(view),
  idOf = ({ profile = '', name }) => `${profile}/${name}`,
  buttons,
  none,
  unchosen,
  link,
  children,
}: {
  readonly view: 'routes' | 'servers' | 'targets' | 'schedules';
  readonly listing: Listing<Row>;
  readonly place: Place;
  /** The id of the item in the pane, if it is not what the place names. */
  readonly at?: string;
  /** The accessible name of the list, if it is not that of the view. */
  readonly label?: string;
  /** Returns the name of an item in addresses; by default with that of its profile. */
  readonly idOf?: (row: Row) => string;
  /** In the head: what changes something. */
  readonly buttons?: ComponentChildren;
  /** In place of the list, if there are no items. */
  readonly none: JSX.Element;
  /** In the pane, if no item is chosen. */
  readonly unchosen: JSX.Element;
  /** In the link of an item; one without a profile has no pane, and no link. */
  readonly link: (row: Row) => JSX.Element;
  readonly children: (row: Row) => JSX.Element;
}): JSX.Element {
  const profile = useProfile();
  const noun = view.slice(0, -1);
  const isConfigured = view === 'routes' || view === 'servers';
  // An address that a person has typed may lack the profile, or have a schedule's name in place of its id.
  const isNamed = (one: Row): boolean => one.name === at || idOf(one).replace(/^[^/]*\//, '') === at;
  const ofProfile = rowsOf(every, profile).filter(isNamed);
  const named = ofProfile.length > 0 ? ofProfile : every.filter(isNamed);
  const row = every.find((one) => idOf(one) === at) ?? (named.length === 1 ? named[0] : undefined);
  const open = row === undefined ? at : idOf(row);
  const list = (
    <>
      {filter === undefined ? null : (
        <div class="listhead">
          <SearchField label={`Filter ${view}`} value={filter.words} onInput={filter.type} />
        </div>
      )}
      <ul class="scrolls">
        {rows.map((one) => {
          const id = idOf(one);
          const isAt = id === open;
          return (
            <li key={id}>
              {one.profile === undefined ? (
                <div class="li">{link(one)}</div>
              ) : (
                <a class={isAt ? 'li at' : 'li'} href={hashOf(view, id)} aria-current={isAt}>
                  {link(one)}
                </a>
              )}
            </li>
          );
        })}
      </ul>
      {rows.length === 0 && filter !== undefined ? <Empty title={`No ${noun} of that name.`} /> : null}
      <span class="unseen" role="status">
        {filter === undefined || filter.words.trim() === '' ? '' : `${rows.length} of ${counted(all.length, noun)}`}
      </span>
    </>
  );
  return (
    <>
      <Head
        title={sentenceCase(view)}
        count={asking.asked.kind === 'there' ? all.length.toLocaleString('en') : undefined}
        profile={profile}
      >
        <Acts>{buttons}</Acts>
      </Head>
      <Answer {...asking} what={`The ${view}`}>
        {() =>
          all.length === 0 && row === undefined ? (
            none
          ) : (
            <Split label={label} opened={chosen !== ''} back={`All ${view}`} onBack={() => go(view)} list={list}>
              {at === '' ? (
                unchosen
              ) : row === undefined ? (
                <Empty title={named.length > 0 ? `${named.length} ${view} have this name` : `No such ${noun}`}>
                  {named.length > 0 ? (
                    named.map((one) => (
                      <div key={idOf(one)}>
                        In profile <a href={hashOf(view, idOf(one))}>{one.profile}</a>
                      </div>
                    ))
                  ) : isConfigured ? (
                    `${at} is not configured any more.`
                  ) : (
                    <>
                      <code>{at}</code> is not among them any more.
                    </>
                  )}
                </Empty>
              ) : (
                <Fragment key={open}>{children(row)}</Fragment>
              )}
            </Split>
          )
        }
      </Answer>
    </>
  );
}
