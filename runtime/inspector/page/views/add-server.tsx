/**
 * The dialog of an add-server link: shows name and whole config, warns of commands, adds only after a yes and never over a
 * name that stands.
 * @see LNK-2 and LNK-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { shownJson } from '../../../../machines/base/shown-json.ts';
import { announce } from '../data/announce.ts';
import { go } from '../data/place.ts';
import type { LinkReading } from '../data/rows.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Refused, Scrolled } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';

type Step =
  | { readonly kind: 'pasting'; readonly why: string }
  | { readonly kind: 'asking'; readonly link: LinkReading; readonly why: string };

export function AddServer({ link, onClose }: { readonly link: string; readonly onClose: () => void }): JSX.Element {
  const [url, setUrl] = useState(link);
  const [name, setName] = useState('');
  const [step, setStep] = useState<Step>({ kind: 'pasting', why: '' });
  const [busy, setBusy] = useState(false);

  async function read(from: string): Promise<void> {
    setBusy(true);
    try {
      const reading = await call<LinkReading>('link.read', { url: from.trim() });
      setName(reading.name);
      setStep({ kind: 'asking', link: reading, why: reading.taken ? takenWords(reading.name) : '' });
    } catch (error) {
      setStep({ kind: 'pasting', why: wordsOf(error).why });
    } finally {
      setBusy(false);
    }
  }

  async function add(reading: LinkReading): Promise<void> {
    setBusy(true);
    try {
      const { added, profile } = await call<{ added: string; profile: string }>('link.add', { url: url.trim(), name });
      announce(`${added} is added; it is connected by itself.`);
      onClose();
      go('servers', `${profile}/${added}`);
    } catch (error) {
      setStep({ kind: 'asking', link: reading, why: wordsOf(error).why });
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
            <pre>{shownJson(step.link.config)}</pre>
          </Scrolled>
          {step.link.kind === 'command' ? (
            <p class="caution" role="note">
              It runs a command on this computer, with your rights. Add it only if you trust its source.
            </p>
          ) : null}
          {step.why === '' ? null : <Refused why={step.why} />}
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

function takenWords(name: string): string {
  return `A server named “${name}” exists already and is not overwritten; choose another name, or cancel.`;
}
