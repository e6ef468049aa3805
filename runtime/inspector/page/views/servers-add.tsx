/**
 * The sheets that add and edit a server. A test of the input uses a separate process; nothing is written before the last
 * button.
 * @see INS-4, LNK-3 and SEC-1 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ProbeReport, ServerDetail } from '../../../control/contract/servers.ts';
import { announce } from '../data/announce.ts';
import { goWithin } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import {
  changesOfForm,
  emptyForm,
  entryOfForm,
  type FormFaults,
  faultsOf,
  formOf,
  type ServerForm,
  withKind,
} from '../data/server-entry.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { type ChoiceProps, Segmented, Select } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SheetForm } from '../parts/form.tsx';
import { NeedsFresh } from '../parts/needs-fresh.tsx';
import { AddByLink } from './add-server.tsx';
import { ServerFields } from './servers-form.tsx';
import { ImportServers } from './servers-import.tsx';
import { TestResult } from './servers-test.tsx';

const kinds = [
  ['command', 'Command'],
  ['url', 'URL'],
  ['link', 'Add-server link'],
  ['import', 'Import or paste'],
] as const;
type Kind = (typeof kinds)[number][0];

interface AddSheetProps {
  readonly kind: string;
  readonly link: string;
  readonly onClose: () => void;
}

export function AddSheet({ kind: first, link, onClose }: AddSheetProps): JSX.Element {
  const [kind, setKind] = useState<Kind>(kinds.find(([name]) => name === first)?.[0] ?? 'command');
  /** Whether the server is being written; closing would then hide the outcome. */
  const [isWriting, setWriting] = useState(false);
  const choice = <KindField value={kind} options={kinds} onChoose={setKind} />;
  return (
    <Dialog title="Add server" sheet keepsText busy={isWriting} onClose={onClose}>
      {kind === 'link' ? (
        <AddByLink link={link} choice={choice} onBusy={setWriting} onClose={onClose} />
      ) : kind === 'import' ? (
        <ImportServers choice={choice} onBusy={setWriting} onClose={onClose} />
      ) : (
        <Typed key="typed" kind={kind} choice={choice} onBusy={setWriting} onClose={onClose} />
      )}
    </Dialog>
  );
}

function KindField<Value extends string>(props: Omit<ChoiceProps<Value>, 'label'>): JSX.Element {
  return (
    <div class="field">
      <span>How is it reached?</span>
      <div>
        <Segmented label="Kind" {...props} />
      </div>
    </div>
  );
}

interface TypedProps {
  readonly kind: 'command' | 'url';
  readonly choice: JSX.Element;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onClose: () => void;
}

function Typed({ kind, choice, onBusy, onClose }: TypedProps): JSX.Element {
  const [typed, setTyped] = useState(emptyForm);
  const [profile, setProfile] = useState(useProfile() ?? 'default');
  const profiles = useAsked('profiles', () => call('config.source', {}));
  const served = profiles.asked.kind === 'there' ? profiles.asked.value.profiles : [];
  const form = { ...typed, kind };
  const work = useWork(form);
  useEffect(() => onBusy(work.isWriting), [work.isWriting]);
  /** What is typed now. */
  const now = useRef<readonly unknown[]>([]);
  now.current = [typed, kind, profile];
  const isClosed = useRef(false);
  useEffect(
    () => () => {
      isClosed.current = true;
    },
    [],
  );
  const test = (): Promise<ProbeReport | undefined> =>
    work.run('Test', entryOfForm(form), async ({ entry }) => {
      const asked = { server: form.name, profile, entry };
      await call('mcp.add', { ...asked, dry: true });
      return work.keep(await call('mcp.test', asked));
    });
  const add = async (isOff: boolean): Promise<void> => {
    const { current: begun } = now;
    const report = isOff ? undefined : (work.report ?? (await test()));
    // Closing the sheet during the test cancels what was to follow it, and so does typing: that was not tested.
    if (isClosed.current || begun.some((one, at) => one !== now.current[at])) return;
    if (!isOff && (report === undefined || hasFailed(report))) return;
    await work.run(isOff ? addOff : 'Add server', entryOfForm(form), async (found) => {
      const entry = isOff ? { ...found.entry, enabled: false } : found.entry;
      const { added, not_in_force: why } = await call('mcp.add', { server: form.name, profile, entry, values: 'all' });
      announce(why === undefined ? `Server ${added} added.` : `Server ${added} is written, but not in force: ${why}`);
      onClose();
      goWithin('servers', `${profile}/${added}`);
    });
  };
  return (
    <EntryForm
      {...{ work, form }}
      hasName
      hint="Nothing is written before you add it."
      onForm={(changes) => setTyped((old) => ({ ...old, ...changes }))}
      onTest={test}
      onSubmit={() => add(false)}
      button={
        work.report !== undefined && hasFailed(work.report) ? (
          <Button class="tall" disabled={work.busy !== ''} onClick={() => void add(true)}>
            {addOff}
          </Button>
        ) : (
          <Button type="submit" class="primary tall" disabled={work.busy !== ''}>
            {work.busy === 'Add server' ? 'Adding…' : 'Add server'}
          </Button>
        )
      }
    >
      {choice}
      {served.length > 1 ? (
        <Select
          label="Profile"
          value={profile}
          options={served.map((name) => [name, name] as const)}
          onChoose={setProfile}
        />
      ) : null}
    </EntryForm>
  );
}

const addOff = 'Add anyway, disabled';

function hasFailed({ ok, needs_login }: ProbeReport): boolean {
  return !ok && needs_login !== true;
}

interface EditSheetProps {
  readonly detail: ServerDetail;
  readonly onClose: () => void;
}

export function EditSheet({ detail: { name: server, profile, entry }, onClose }: EditSheetProps): JSX.Element {
  const before = useRef(formOf(server, entry)).current;
  const [form, setForm] = useState(before);
  const work = useWork(form);
  const test = (): Promise<ProbeReport | undefined> =>
    work.run('Test', changesOfForm(before, form), async ({ changes }) => {
      await call('mcp.edit', { server, profile, changes, dry: true });
      return work.keep(await call('mcp.test', { server, profile, changes }));
    });
  const save = (): Promise<void> =>
    work.run('Save changes', changesOfForm(before, form), async ({ changes }) => {
      const { not_in_force: why } = await call('mcp.edit', { server, profile, changes, values: 'all' });
      announce(why === undefined ? `Server ${server} changed.` : `Written, but not in force: ${why}`);
      onClose();
    });
  return (
    <Dialog title={`Edit server ${server}`} sheet keepsText busy={work.isWriting} onClose={onClose}>
      <EntryForm
        {...{ work, form }}
        hasName={false}
        hint="Other keys and all comments of the entry stay as they are."
        onForm={(changes) => setForm((old) => ({ ...old, ...changes }))}
        onTest={test}
        onSubmit={save}
        button={
          <Button type="submit" class="primary tall" disabled={work.busy !== ''}>
            {work.busy === 'Save changes' ? 'Saving…' : 'Save changes'}
          </Button>
        }
      >
        <KindField
          value={form.kind}
          options={[
            ['command', 'Command'],
            ['url', 'URL'],
          ]}
          onChoose={(kind) => setForm((old) => withKind(before, old, kind))}
        />
      </EntryForm>
    </Dialog>
  );
}

/** The fields of a server with their errors, the result of a test, and the buttons. */
function EntryForm({
  work,
  form,
  hasName,
  hint,
  button,
  onForm,
  onTest,
  onSubmit,
  children,
}: {
  readonly work: Work;
  readonly form: ServerForm;
  readonly hasName: boolean;
  readonly hint: string;
  readonly button: JSX.Element;
  readonly onForm: (changes: Partial<ServerForm>) => void;
  readonly onTest: () => unknown;
  readonly onSubmit: () => unknown;
  /** Above the fields. */
  readonly children: ComponentChildren;
}): JSX.Element {
  const { faults, staleFor } = work.answered;
  const test = (
    <Button class="tall" disabled={work.busy !== ''} onClick={() => void onTest()}>
      {work.busy === 'Test' ? 'Testing…' : 'Test'}
    </Button>
  );
  return (
    <SheetForm
      {...{ hint, onSubmit }}
      busy={work.isWriting}
      buttons={
        <>
          {test}
          {button}
        </>
      }
    >
      {children}
      <ServerFields
        {...{ form, faults, hasName }}
        change={(changes) => {
          onForm(changes);
          work.forget(changes);
        }}
      />
      {faults.general === undefined ? null : (
        <p class="hint fault" role="alert">
          {withCode(faults.general)}
        </p>
      )}
      {staleFor === undefined ? null : <NeedsFresh what="Nothing was written yet." button={staleFor} />}
      {work.report === undefined ? null : (
        <TestResult
          report={work.report}
          left={form.left}
          busy={work.busy !== ''}
          onLeft={(left) => onForm({ left })}
          onAgain={() => void onTest()}
        />
      )}
    </SheetForm>
  );
}

type Work = ReturnType<typeof useWork>;

/** The outcome of the last press of a button. */
interface Answered {
  readonly faults: FormFaults;
  readonly staleFor?: string;
}

const nothing: Answered = { faults: {} };

/** The state of a sheet's buttons: the busy one, the refusal, and the last test with its form. */
function useWork({ left: _, ...form }: ServerForm) {
  const [busy, setBusy] = useState('');
  const [answered, setAnswered] = useState(nothing);
  const [tested, setTested] = useState<{ readonly key: string; readonly report: ProbeReport }>();
  const key = JSON.stringify(form);
  return {
    busy,
    /** Closing the sheet would hide the outcome. */
    isWriting: busy !== '' && busy !== 'Test',
    answered,
    /** The last test, if the form is as it was then: it may have been changed while the test ran. */
    report: tested?.key === key ? tested.report : undefined,
    keep(report: ProbeReport) {
      setTested({ key, report });
      return report;
    },
    forget(changes: Partial<ServerForm>) {
      const { faults } = answered;
      const own = 'values' in changes ? 'values' : Object.keys(changes)[0];
      setAnswered({
        faults: Object.fromEntries(Object.entries(faults).filter(([key]) => key !== own && key !== 'general')),
      });
    },
    /** @param found what the form means, or its faults, which are shown instead */
    async run<Found extends object, Value>(
      button: string,
      found: Found | { readonly faults: FormFaults },
      act: (found: Found) => Promise<Value>,
    ): Promise<Value | undefined> {
      if ('faults' in found) {
        setAnswered({ faults: found.faults });
        return undefined;
      }
      setBusy(button);
      setAnswered(nothing);
      try {
        return await act(found);
      } catch (error) {
        const { why, code, field } = wordsOf(error);
        setAnswered(
          code === 'link-not-fresh' ? { faults: {}, staleFor: button } : { faults: missing(why, code, field) },
        );
        return undefined;
      } finally {
        setBusy('');
      }
    },
  };
}

function missing(why: string, code: string, field: string | undefined): FormFaults {
  // The name is the only parameter that a form may lack.
  return code === 'params-missing' ? { name: 'Give the server a name.' } : faultsOf(why, field);
}
