/**
 * The dialog of an add-server link: shows name and whole config, warns of commands and of lowered guards, asks
 * for the profile where there are several, adds only after a yes and never over a name that stands.
 * @see LNK-2, LNK-3, SEC-1 and SEC-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { shownJson, shownText, withoutGaps } from '../../../../machines/base/shown-json.ts';
import type { LinkReading } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { go } from '../data/place.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Refused, Scrolled } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';

type Step =
  | { readonly kind: 'pasting'; readonly why: string }
  | { readonly kind: 'asking'; readonly link: LinkReading; readonly why: string; readonly needsFreshLink?: boolean };

export function AddServer({ link, onClose }: { readonly link: string; readonly onClose: () => void }): JSX.Element {
  const [url, setUrl] = useState(link);
  const [name, setName] = useState('');
  const [profile, setProfile] = useState('default');
  const lastChosen = useRef(profile);
  const [step, setStep] = useState<Step>({ kind: 'pasting', why: '' });
  const [busy, setBusy] = useState(false);

  /** Reads a link for a profile; undefined where it is none, which is then said. */
  async function readingOf(from: string, chosen: string): Promise<LinkReading | undefined> {
    setBusy(true);
    try {
      return await call('link.read', { url: from.trim(), profile: chosen });
    } catch (error) {
      // The next link begins anew, with a profile that is always there.
      setProfile('default');
      setStep({ kind: 'pasting', why: wordsOf(error).why });
      return undefined;
    } finally {
      setBusy(false);
    }
  }

  async function read(from: string): Promise<void> {
    const reading = await readingOf(from, profile);
    if (reading === undefined) return;
    setName(reading.name);
    setStep(stepOf(reading));
  }

  /** A name is taken or free in one profile. */
  async function choose(chosen: string): Promise<void> {
    setProfile(chosen);
    lastChosen.current = chosen;
    const reading = await readingOf(url, chosen);
    if (reading !== undefined && lastChosen.current === chosen) setStep(stepOf(reading));
  }

  async function add(reading: LinkReading): Promise<void> {
    setBusy(true);
    try {
      const { added } = await call('link.add', { url: url.trim(), name, profile });
      announce(`${added} is added; it is connected by itself.`);
      onClose();
      go('servers', `${profile}/${added}`);
    } catch (error) {
      const { why, code } = wordsOf(error);
      const needsFreshLink = code === 'link-not-fresh';
      setStep({ kind: 'asking', link: reading, why: needsFreshLink ? '' : why, needsFreshLink });
    } finally {
      setBusy(false);
    }
  }

  // A link that came with the address is read at once; it is added by nobody but a person.
  useEffect(() => {
    if (link !== '') void read(link);
  }, []);

  return (
    <Dialog title="Add an MCP server" onClose={onClose}>
      {step.kind === 'pasting' ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void read(url);
          }}
        >
          <label class="wide">
            Link
            <textarea
              rows={4}
              class="mono"
              placeholder="agent://mcp/install?name=…&config=…"
              value={url}
              onInput={(event) => setUrl(event.currentTarget.value)}
            />
          </label>
          {step.why === '' ? null : <Refused why={step.why} />}
          <div class="buttons">
            <button type="submit" class="main" disabled={busy || url.trim() === ''}>
              Look at it
            </button>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </form>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void add(step.link);
          }}
        >
          <p>
            A link asks to add the MCP server <strong>{step.link.name}</strong>:
          </p>
          <Scrolled class="config" label="The whole config">
            <pre>{withoutGaps(shownJson(step.link.config))}</pre>
          </Scrolled>
          {step.link.kind === 'command' ? (
            <p class="caution" role="note">
              It runs a command on this computer, with your rights. Add it only if you trust its source.
            </p>
          ) : null}
          {step.link.lowers.map((words) => (
            <p key={words} class="caution" role="note">
              {withoutGaps(shownText(words))}
            </p>
          ))}
          {step.why === '' ? null : <Refused why={step.why} />}
          {step.needsFreshLink === true ? <NeedsFreshLink /> : null}
          <label class="wide">
            Name
            <input
              value={name}
              required
              pattern="[A-Za-z0-9._\-]{1,64}"
              title="1 to 64 letters, digits, “.”, “_” and “-”"
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          {step.link.profiles.length === 1 ? null : (
            <label class="wide">
              Profile
              <select value={profile} onChange={(event) => void choose(event.currentTarget.value)}>
                {step.link.profiles.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
          )}
          <div class="buttons">
            <button
              type="submit"
              class={step.link.kind === 'command' ? 'danger' : 'main'}
              disabled={busy || (step.link.taken && name === step.link.name)}
            >
              {step.link.kind === 'command' ? 'Add the command' : 'Add it'}
            </button>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** The page has no password to ask for: a link shows that the person has a terminal of this computer. */
function NeedsFreshLink(): JSX.Element {
  return (
    <div class="caution" role="alert">
      <p>
        <strong>Nothing was added yet.</strong> What starts a program needs a link that was opened in the last 10
        minutes.
      </p>
      <p>
        Run <code>agent inspect --web</code> on this computer and open its link in this browser, then come back here and
        press <strong>Add the command</strong> again.
      </p>
    </div>
  );
}

function stepOf(link: LinkReading): Step {
  return { kind: 'asking', link, why: link.taken ? takenWords(link.name) : '' };
}

function takenWords(name: string): string {
  return `A server named “${name}” exists already and is not overwritten; choose another name, or cancel.`;
}
