/**
 * The navigation: a sidebar, a rail of icons with names, or a bar of five at the bottom, drawn from the rows of `views.ts`.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { createCell, useCell } from '../data/cell.ts';
import { sentenceCase } from '../data/format.ts';
import { hashOf, type View } from '../data/hash.ts';
import { nodes } from '../data/live.ts';
import { place } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { useMedia } from '../data/use-media.ts';
import { Icon, Logo } from '../parts/icons.tsx';
import { Count } from '../parts/panel.tsx';
import { useViews, type ViewRow } from '../views.ts';
import { Foot } from './foot.tsx';
import { ProfileChoice } from './profiles.tsx';

/** Whether a person has folded the sidebar into a rail, which applies at any width. */
export const folded = createCell(false);

const groups = ['', 'Connections', 'System'] as const;
const inBar: readonly View[] = ['overview', 'events', 'approvals', 'servers'];

export function Sidebar({ at, onFind }: { readonly at: View; readonly onFind: () => void }): JSX.Element {
  const views = useViews();
  const count = useCell(nodes);
  // Draws again with the profile, which is in the links.
  useProfile();
  return (
    <aside class="side">
      <div class="home">
        <Logo />
        <span>
          <b>agent</b>
          <small>{count === undefined || count === 1 ? 'inspector' : `${count} nodes`}</small>
        </span>
      </div>
      <ProfileChoice />
      <button type="button" class="find" onClick={onFind}>
        <Icon name="search" small />
        <span>Search or go to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label="Views">
        {groups.map((group) => {
          const rows = views.filter((row) => row.group === group);
          return rows.length === 0 ? null : (
            <div key={group}>
              {group === '' ? null : <p class="group">{group}</p>}
              {rows.map((row) => (
                <NavLink key={row.name} row={row} isAt={row.name === at} />
              ))}
            </div>
          );
        })}
      </nav>
      <Foot />
    </aside>
  );
}

function NavLink({ row, isAt }: { readonly row: ViewRow; readonly isAt: boolean }): JSX.Element {
  const { name, useCount = noCount } = row;
  const count = useCount();
  return (
    <a href={hashOf(name)} aria-current={isAt ? 'page' : undefined}>
      <Icon name={name} />
      <span class="word">{sentenceCase(name)}</span>
      {count === undefined || count.count === 0 ? null : <Count {...count} />}
    </a>
  );
}

function noCount(): undefined {
  return undefined;
}

/** Calls back, while a menu of places is open, when a person goes to another place, clicks beside the menu, or presses Escape. */
function useLeave(isOpen: boolean, leave: () => void): void {
  const { view, chosen } = useCell(place);
  useEffect(leave, [view, chosen]);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    // What is beside the menu does nothing then: Escape would leave the opened event, and a click would press what it meets.
    const leaveBy = (event: Event): void => {
      event.preventDefault();
      event.stopPropagation();
      leave();
    };
    const clicked = (event: Event): void => {
      if (event.target instanceof Element && event.target.closest('#main') !== null) leaveBy(event);
    };
    const pressed = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]') !== null) return;
      leaveBy(event);
      document.querySelector<HTMLElement>('.tabbar button')?.focus();
    };
    addEventListener('click', clicked, { capture: true });
    addEventListener('keydown', pressed, { capture: true });
    return () => {
      removeEventListener('click', clicked, { capture: true });
      removeEventListener('keydown', pressed, { capture: true });
    };
  }, [isOpen]);
}

/** Below 761 px: four places, and the others behind More. */
export function TabBar({ at }: { readonly at: View }): JSX.Element {
  const [isAsked, setMore] = useState(false);
  // After a phone is turned, the menu is not on the page.
  const isMore = useMedia('(max-width: 760px)') && isAsked;
  useLeave(isMore, () => setMore(false));
  const views = useViews();
  useProfile();
  const first = views.filter(({ name }) => inBar.includes(name));
  const rest = views.filter(({ name }) => !inBar.includes(name));
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: More closes after a click on one of the links. */}
      <nav class="tabbar" aria-label="Main views" onClick={() => setMore(false)}>
        {first.map((row) => (
          <NavLink key={row.name} row={row} isAt={row.name === at && !isMore} />
        ))}
        <button
          type="button"
          aria-current={inBar.includes(at) ? undefined : 'true'}
          aria-expanded={isMore}
          aria-controls="more-places"
          onClick={(event) => {
            event.stopPropagation();
            setMore(!isMore);
          }}
        >
          <Icon name="more" />
          More
        </button>
      </nav>
      {/* After the bar, so that Tab leads from More into it. */}
      {isMore ? (
        // biome-ignore lint/a11y/useKeyWithClickEvents: it closes after a click on one of its links.
        <aside class="more-places" id="more-places" aria-label="More" onClick={() => setMore(false)}>
          <ProfileChoice />
          <nav aria-label="More views">
            {rest.map((row) => (
              <NavLink key={row.name} row={row} isAt={row.name === at} />
            ))}
          </nav>
          <Foot />
        </aside>
      ) : null}
    </>
  );
}
