/**
 * The command palette: actions on what is chosen, other actions, places, names, and a search of the events. Every action
 * has the words of its button.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { searchIn } from '../../../../machines/base/event-query.ts';
import type { EventFound } from '../../../control/contract/events.ts';
import { useCell } from '../data/cell.ts';
import { drawnCommands } from '../data/commands.ts';
import { copyText } from '../data/copy-text.ts';
import { keyOfRow, lineOfRow, type Outcome, outcomeOfRow } from '../data/event-words.ts';
import { formatClock, formatWord, sentenceCase } from '../data/format.ts';
import type { View } from '../data/hash.ts';
import { nameOf } from '../data/keys.ts';
import { go } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { serverLabel } from '../data/server-words.ts';
import { StatusMark } from '../parts/chip.tsx';
import { useModal } from '../parts/dialog.tsx';
import { Icon, type IconName } from '../parts/icons.tsx';
import { Kbd } from '../parts/panel.tsx';
import { DialogToast } from '../parts/toast.tsx';
import { viewsNow } from '../views.ts';
import { foundChoices, markedLabel } from './found.ts';
import { folded } from './sidebar.tsx';

const eventsGroup = 'Events';
/** The same as in the search of the events. */
const typingMs = 200;
const eventsShown = 3;

interface Offer {
  readonly group: string;
  readonly label: string;
  readonly icon: IconName;
  /** The outcome of an event, in place of the icon. */
  readonly outcome?: Outcome;
  readonly hint: string;
  readonly run: () => void;
}

/** The offer that a person has chosen, which names and events that come later move. */
const first = { at: 0, key: '' };

function keyOf(offer: Offer | undefined): string {
  return offer === undefined ? '' : `${offer.group} ${offer.label}`;
}

interface PaletteProps {
  readonly onClose: () => void;
  readonly onSheet: () => void;
}

export function Palette({ onClose, onSheet }: PaletteProps): JSX.Element {
  const [typed, setTyped] = useState('');
  const [picked, pick] = useState(first);
  const modal = useModal(onClose);
  const names = useNames();
  const commands = useCell(drawnCommands);
  const events = useEvents(typed.trim());

  const offers = useMemo(() => {
    const ofGroup = (group: 'selection' | 'actions', title: string): Offer[] =>
      commands
        .filter((one) => one.group === group)
        .flatMap((one) => one.commands)
        .map(({ label, icon, asks, hint, run }) => ({
          group: title,
          label,
          icon,
          hint: asks === true ? 'asks first' : (hint ?? ''),
          run,
        }));
    const own: Offer[] = [
      { group: 'Actions', label: 'Show all keys', icon: 'more', hint: '?', run: onSheet },
      {
        group: 'Actions',
        label: folded.get() ? 'Unfold the sidebar' : 'Fold the sidebar',
        icon: 'switch',
        hint: '[',
        run: () => folded.set(!folded.get()),
      },
    ];
    const places = viewsNow().map(
      ({ name, letter }): Offer => ({
        group: 'Go to',
        label: sentenceCase(name),
        icon: name,
        hint: letter === '' ? '' : `G then ${letter.toUpperCase()}`,
        run: () => go(name),
      }),
    );
    const all = [...ofGroup('selection', 'On the selection'), ...ofGroup('actions', 'Actions'), ...own, ...places];
    const found = foundChoices([...all, ...(typed.trim() === '' ? [] : names)], typed);
    const text = typed.trim();
    if (text === '') return found;
    const search: Offer = {
      group: eventsGroup,
      label: `Search all events for “${text}”`,
      icon: 'search',
      hint: '',
      run: () => go('events', '', { q: text }),
    };
    return [...found, ...events, search];
  }, [typed, names, commands, events]);
  const isPicked = (offer: Offer | undefined): boolean => keyOf(offer) === picked.key;
  const moved = isPicked(offers[picked.at]) ? picked.at : offers.findIndex(isPicked);
  const chosen = moved >= 0 ? moved : Math.min(picked.at, offers.length - 1);
  const choose = (at: number): void => pick({ at, key: keyOf(offers[at]) });

  function run(offer: Offer | undefined): void {
    if (offer === undefined) return;
    onClose();
    // Runs after the dialog has closed and returned the focus, since it may open another one.
    setTimeout(offer.run);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && offers.length > 0) {
      event.preventDefault();
      const next = (chosen + step + offers.length) % offers.length;
      choose(next);
      document.getElementById(`offer-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(offers[chosen]);
    } else if ((event.ctrlKey || event.metaKey) && nameOf(event) === 'k') {
      event.preventDefault();
      onClose();
    }
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too.
    <dialog
      {...modal}
      class="palette"
      aria-label="Search or go to"
      onClick={(event) => {
        if (event.target === modal.ref.current) onClose();
      }}
    >
      <div class="ask">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search or go to"
          aria-expanded="true"
          aria-controls="offers"
          aria-activedescendant={offers.length === 0 ? undefined : `offer-${chosen}`}
          autocomplete="off"
          spellcheck={false}
          placeholder="Search or go to…"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            pick(first);
          }}
          onKeyDown={onKeyDown}
        />
        <Kbd>Esc</Kbd>
      </div>
      <div id="offers" class="offers" role="listbox" aria-label="Results">
        {offers.map((offer, index) => (
          <>
            {offers[index - 1]?.group === offer.group ? null : (
              <p key={offer.group} class="group" role="presentation">
                {offer.group}
              </p>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys. */}
            <div
              key={`${offer.group} ${index}`}
              id={`offer-${index}`}
              class={index === chosen ? 'opt at' : 'opt'}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              onClick={() => run(offer)}
              onPointerMove={() => {
                if (index !== chosen) choose(index);
              }}
            >
              <span class="slot">
                {offer.outcome === undefined ? (
                  <Icon name={offer.icon} />
                ) : (
                  <>
                    <StatusMark name={offer.outcome.mark} />
                    <span class="unseen">{offer.outcome.words}</span>
                  </>
                )}
              </span>
              <span class="cut">
                {offer.group === eventsGroup
                  ? offer.label
                  : markedLabel(offer.label, typed).map((part, turn) =>
                      turn % 2 === 1 ? <b key={`${turn} ${part}`}>{part}</b> : part,
                    )}
              </span>
              <span class="push">{offer.hint}</span>
            </div>
          </>
        ))}
      </div>
      <div class="keys">
        <span>
          <Kbd>↑</Kbd> <Kbd>↓</Kbd> move
        </span>
        <span>
          <Kbd>Enter</Kbd> run
        </span>
        <span>
          <Kbd>Esc</Kbd> close
        </span>
      </div>
      <DialogToast />
    </dialog>
  );
}

/** Returns the newest events with the words, from the complete history. The result for an earlier text is dropped. */
function useEvents(text: string): readonly Offer[] {
  const [found, setFound] = useState<{ text: string; offers: readonly Offer[] }>({ text: '', offers: [] });
  const profile = useProfile();
  useEffect(() => {
    if (text === '') return;
    let wanted = true;
    const timer = setTimeout(() => {
      call('events.search', { q: searchIn(text, profile), limit: eventsShown }).then(
        ({ rows }) => {
          if (wanted) setFound({ text, offers: rows.map(offerOf) });
        },
        // An incomplete search offers nothing; the view of the events shows why.
        () => undefined,
      );
    }, typingMs);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [text]);
  return found.text === text ? found.offers : [];
}

function offerOf(row: EventFound): Offer {
  return {
    group: eventsGroup,
    label: `${row.route} ${row.event} ${lineOfRow(row)}`,
    icon: 'events',
    outcome: outcomeOfRow(row),
    hint: formatClock(row.received_at, Date.now()),
    run: () => go('events', keyOfRow(row)),
  };
}

/** Returns servers, routes and schedules by name. Names that cannot be read are left out; their views show why. */
function useNames(): readonly Offer[] {
  const servers = useRows('servers', () => call('mcp.list'));
  const routes = useRows('route names', () => call('webhook.list', { brief: true }));
  const schedules = useRows('cron', () => call('cron.list'));
  return useMemo(
    () => [
      ...servers.map((row) =>
        offerOfName('servers', 'Server', row, `${row.profile}/${row.name}`, serverLabel(row.state).toLowerCase()),
      ),
      ...routes.map(
        (row): Offer => ({
          group: 'Actions',
          label: `Copy the URL of route ${named(row)}`,
          icon: 'copy',
          hint: '',
          run: () => void copyText(row.url),
        }),
      ),
      ...routes.map((row) =>
        offerOfName(
          'routes',
          'Route',
          row,
          `${row.profile ?? 'default'}/${row.name}`,
          row.enabled === false ? 'disabled' : '',
        ),
      ),
      ...schedules.map((row) =>
        offerOfName('schedules', 'Schedule', row, `${row.profile}/${row.id}`, formatWord(row.state)),
      ),
    ],
    [servers, routes, schedules],
  );
}

const noRows: readonly never[] = [];

function useRows<Row>(key: string, ask: () => Promise<readonly Row[]>): readonly Row[] {
  const { asked } = useAsked(key, ask);
  return asked.kind === 'there' ? asked.value : noRows;
}

function offerOfName(view: View, what: string, row: Parameters<typeof named>[0], chosen: string, hint: string): Offer {
  return { group: 'Go to', label: `${what} ${named(row)}`, icon: view, hint, run: () => go(view, chosen) };
}

/** A name with its profile, since several profiles may have it. */
function named({ name, profile = 'default' }: { readonly name: string; readonly profile?: string }): string {
  return profile === 'default' ? name : `${name} (${profile})`;
}
