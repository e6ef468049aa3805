/**
 * The states of the page itself: no daemon, a daemon that has too many pages or is not ready, a session that has ended.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Readiness } from '../../../control/contract/wire.ts';
import { useCell } from '../data/cell.ts';
import { daemonNow } from '../data/clock.ts';
import { connection, silentSince } from '../data/connection.ts';
import { formatClock } from '../data/format.ts';
import { health, tryNow } from '../data/live.ts';
import { useAsked } from '../data/rpc.ts';
import { fetchProven, hasPasswords, keepPlace } from '../data/session.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { useModal } from '../parts/dialog.tsx';
import { Logo } from '../parts/icons.tsx';
import { Banner } from '../parts/panel.tsx';
import { SignIn } from '../parts/sign-in.tsx';

/** The version that the page is of, also after the page was replaced by a session's end. */
let own: string | undefined;

/** One banner for all content below, which stays readable. */
export function Banners(): JSX.Element | null {
  const joined = useCell(connection);
  const { version, ready } = useCell(health) ?? {};
  own ??= version;
  const files = useAsked('own files', statusesOfFiles);
  const isReplaced = files.asked.kind === 'there' && files.asked.value.includes(404);
  const button = <Button onClick={tryNow}>Try again</Button>;
  if (joined === 'full') {
    return (
      <Banner mark="waiting" alert button={button}>
        <b>Too many pages of this gateway are open,</b> in this browser or in others, so this one gets no news. Close
        another one; this page then continues by itself.
      </Banner>
    );
  }
  if (joined === 'offline') {
    return (
      <Banner mark="failed" alert button={button}>
        <b>Offline since {formatClock(silentSince + daemonNow() - Date.now(), daemonNow())}.</b> The daemon does not
        answer. What you see is as it was then; the page comes back by itself once <code>agent gateway</code> runs.
      </Banner>
    );
  }
  if (joined !== 'live') return null;
  if (ready === false) return <NotReady />;
  if (version === own && !isReplaced) return null;
  const reload = <Button onClick={() => location.reload()}>Reload</Button>;
  // A gateway of another version may name its own otherwise.
  const isNamed = version !== undefined && version !== own;
  return (
    <Banner mark="waiting" button={reload}>
      <b>{isNamed ? `The gateway is ${version} now.` : 'The gateway has another page now.'}</b> This one is of{' '}
      {isNamed ? own : 'an earlier build'}, and may not show all of it rightly.
    </Banner>
  );
}

/** Their names have digests, so the daemon of another build does not have them. */
async function statusesOfFiles(): Promise<number[]> {
  const styles = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')].map(({ href }) => href);
  const answers = [import.meta.url, ...styles].map((file) => fetchProven(file, { method: 'HEAD' }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

function NotReady(): JSX.Element {
  const seen = useCell(health);
  const { asked, again } = useAsked(
    'readiness',
    async () => (await (await fetchProven('./ready')).json()) as Readiness,
  );
  // The part and its state may be others by now.
  useEffect(() => void again(), [seen]);
  const parts = asked.kind === 'there' ? Object.entries(asked.value.parts) : [];
  const [name, part] = parts.find(([, { ok }]) => !ok) ?? [];
  return (
    <Banner mark="waiting">
      <b>Not ready{part === undefined ? '.' : `: ${name} is ${part.state}.`}</b> {withCode(part?.why ?? '')}
    </Banner>
  );
}

/**
 * Replaces the full page, so that nothing is left for the next person at this screen, or covers one in which something is
 * typed: as a dialog, since those below it would take its keys and clicks.
 */
export function NoSession({ had, keeps }: { readonly had: boolean; readonly keeps: boolean }): JSX.Element {
  const modal = useModal(() => {});
  useEffect(keepPlace, []);
  const { asked } = useAsked('passwords', hasPasswords);
  const passwords = asked.kind === 'there' && asked.value;
  return (
    <dialog {...modal} class="out" aria-labelledby="signed-out">
      <main class="signed-out">
        <div class="home">
          <Logo />
          <b>agent</b>
        </div>
        <h1 id="signed-out">{had ? 'Your session has ended.' : passwords ? 'Sign in' : 'This page has no session'}</h1>
        {passwords ? <SignIn onDone={tryNow} /> : null}
        <p>
          {passwords ? 'Or run' : 'Run'} <code>agent inspect --web</code> and open the link that it prints: it works
          once, in one browser, and goes on where you are now. A session lasts 12 hours.
        </p>
        <p class="muted small">The page comes back by itself once a link was opened in this browser.</p>
        {keeps ? (
          <p>
            What you typed is kept in this tab and is there again once you have signed in. Open the link in another tab.
          </p>
        ) : null}
      </main>
    </dialog>
  );
}
