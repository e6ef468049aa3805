/**
 * The dialog of an add-server link: shows the name and the complete config, warns of commands and of lowered guards, asks
 * for the profile if there are several, adds only after a confirmation and never over an existing name.
 * @see LNK-2, LNK-3, SEC-1 and SEC-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { shownJson, shownText, withoutGaps } from '../../../../machines/base/shown-json.ts';
import type { LinkReading } from '../../../control/contract/servers.ts';
import { announce } from '../data/announce.ts';
import { goWithin } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Button } from '../parts/button.tsx';
import { Field, Select } from '../parts/choice.tsx';
import { Code } from '../parts/code.tsx';
import { SheetForm } from '../parts/form.tsx';
import { NeedsFresh } from '../parts/needs-fresh.tsx';
import { Banner } from '../parts/panel.tsx';

type Step =
  | { readonly kind: 'pasting'; readonly why: string }
  | { readonly kind: 'asking'; readonly link: LinkReading; readonly why: string; readonly needsFreshLink?: boolean };

interface AddByLinkProps {
  readonly link: string;
  /** The other ways to add a server. */
  readonly choice: JSX.Element;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onClose: () => void;
}

export function AddByLink({ link, choice, onBusy, onClose }: AddByLinkProps): JSX.Element {
  const [url, setUrl] = useState(link);
  const [name, setName] = useState('');
  const [profile, setProfile] = useState(useProfile() ?? 'default');
  const lastChosen = useRef(profile);
  const [step, setStep] = useState<Step>({ kind: 'pasting', why: '' });
  const [busy, setBusy] = useState(false);
  useEffect(() => onBusy(busy), [busy]);

  /** Reads a link for a profile; undefined for an invalid link, for which it shows the reason. */
  async function readingOf(from: string, chosen: string): Promise<LinkReading | undefined> {
    setBusy(true);
    try {
      return await call('link.read', { url: from.trim(), profile: chosen });
    } catch (error) {
      // The next link starts with the default profile, which always exists.
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
    // What is shown is what is added: another link may have been typed meanwhile.
    setUrl(from);
    setName(reading.name);
    setStep(stepOf(reading));
  }

  /** Reads the link again, because a name can be taken in one profile and free in another. */
  async function choose(chosen: string): Promise<void> {
    setProfile(chosen);
    lastChosen.current = chosen;
    const reading = await readingOf(url, chosen);
    if (reading !== undefined && lastChosen.current === chosen) setStep(stepOf(reading));
  }

  async function add(reading: LinkReading): Promise<void> {
    setBusy(true);
    try {
      const { added, not_in_force: why } = await call('link.add', { url: url.trim(), name, profile });
      if (why === undefined) announce(`${added} is added; it is connected by itself.`);
      else announce(`${added} is written, but not in force: ${why}`, true);
      onClose();
      goWithin('servers', `${profile}/${added}`);
    } catch (error) {
      const { why, code } = wordsOf(error);
      const needsFreshLink = code === 'link-not-fresh';
      setStep({ kind: 'asking', link: reading, why: needsFreshLink ? '' : why, needsFreshLink });
    } finally {
      setBusy(false);
    }
  }

  // A link in the address is read immediately, but only a person can add it.
  useEffect(() => {
    if (link !== '') void read(link);
  }, []);

  if (step.kind === 'pasting') {
    return (
      <SheetForm
        hint="Nothing is written before you add it."
        busy={busy}
        onSubmit={() => read(url)}
        buttons={
          <Button type="submit" class="primary tall" disabled={busy || url.trim() === ''}>
            Read link
          </Button>
        }
      >
        {choice}
        <Field
          label="Link"
          mono
          lines={4}
          placeholder="agent://mcp/install?name=…&config=…"
          value={url}
          {...(step.why === '' ? {} : { fault: step.why })}
          onInput={setUrl}
        />
      </SheetForm>
    );
  }
  const { link: reading, why, needsFreshLink = false } = step;
  const yes = reading.kind === 'command' ? 'Add the command' : 'Add server';
  return (
    <SheetForm
      busy={busy}
      onSubmit={() => add(reading)}
      buttons={
        <Button
          type="submit"
          class={reading.kind === 'command' ? 'tall danger' : 'tall primary'}
          disabled={busy || (reading.taken && name === reading.name)}
        >
          {yes}
        </Button>
      }
    >
      <p>
        A link asks to add the MCP server <strong>{reading.name}</strong>:
      </p>
      <Code text={withoutGaps(shownJson(reading.config))} label="The complete config" />
      {reading.kind === 'command' ? (
        <Banner mark="waiting">
          It runs a command on this computer, with your rights. Add it only if you trust its source.
        </Banner>
      ) : null}
      {reading.lowers.map((words) => (
        <Banner key={words} mark="waiting">
          {withoutGaps(shownText(words))}
        </Banner>
      ))}
      <Field
        label="Name"
        mono
        value={name}
        hint="1 to 64 letters, digits, “.”, “_” and “-”"
        {...(why === '' ? {} : { fault: why })}
        onInput={setName}
      />
      {needsFreshLink ? <NeedsFresh what="Nothing was added yet." button={yes} /> : null}
      {reading.profiles.length === 1 ? null : (
        <Select
          label="Profile"
          value={profile}
          options={reading.profiles.map((one) => [one, one] as const)}
          onChoose={(one) => void choose(one)}
        />
      )}
    </SheetForm>
  );
}

function stepOf(link: LinkReading): Step {
  return { kind: 'asking', link, why: link.taken ? takenWords(link.name) : '' };
}

function takenWords(name: string): string {
  return `A server named “${name}” exists already and is not overwritten; choose another name, or cancel.`;
}
