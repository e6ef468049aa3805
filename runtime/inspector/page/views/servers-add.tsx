/**
 * The sheets that add and edit a server. A test of the input uses a separate process; nothing is written before the last
 * button.
 * @see INS-4, LNK-3 and SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import type { ProbeReport, ServerDetail } from '../../../control/contract.ts';
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
import { Segmented, Select } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { NeedsFresh } from '../parts/needs-fresh.tsx';
import { AddByLink } from './add-server.tsx';
import { ServerFields } from './servers-form.tsx';
import { ImportServers } from './servers-import.tsx';
import { TestResult } from './servers-test.tsx';

const kinds = [
  ['command', 'Command'],
  ['url', 'URL'],
  ['link', 'Add-server link'],
  ['import', 'Import'],
] as const;
type Kind = (typeof kinds)[number][0];

export function AddSheet({
  kind: first,
  link,
  onClose,
}: {
  readonly kind: string;
  readonly link: string;
  readonly onClose: () => void;
}): JSX.Element {
  const [kind, setKind] = useState<Kind>(kinds.find(([name]) => name === first)?.[0] ?? 'command');
  /** Whether the server is being written; closing would then hide the outcome. */
  const [isWriting, setWriting] = useState(false);
  const choice = (
    <div class="field">
      <span>How is it reached?</span>
      <div>
        <Segmented label="Kind" value={kind} options={kinds} onChoose={setKind} />
      </div>
    </div>
  );
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

/** The outcome of the last press of a button. */
interface Answered {
  readonly faults: FormFaults;
  readonly staleFor?: string;
}

const nothing: Answered = { faults: {} };

function Typed({
  kind,
  choice,
  onBusy,
  onClose,
}: {
  readonly kind: 'command' | 'url';
  readonly choice: JSX.Element;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [typed, setTyped] = useState(emptyForm);
  const [profile, setProfile] = useState(useProfile() ?? 'default');
  const profiles = useAsked('profiles', () => call('config.source', {}));
  const served = profiles.asked.kind === 'there' ? profiles.asked.value.profiles : [];
  const form = { ...typed, kind };
  const work = useWork();
  const isWriting = work.busy !== '' && work.busy !== 'Test';
  useEffect(() => onBusy(isWriting), [isWriting]);
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
  const read = (): { entry: JsonObject } | undefined => {
    const found = entryOfForm(form);
    if ('entry' in found) return found;
    work.refuse(found.faults);
    return undefined;
  };
  const test = (): Promise<ProbeReport | undefined> =>
    work.run('Test', async () => {
      const found = read();
      if (found === undefined) return undefined;
      const asked = { server: form.name, profile, entry: found.entry };
      await call('mcp.add', { ...asked, dry: true });
      return work.keep(form, await call('mcp.test', asked));
    });
  const add = async (isOff: boolean): Promise<void> => {
    const { current: begun } = now;
    const report = isOff ? undefined : (work.reportOf(form) ?? (await test()));
    // Closing the sheet during the test cancels what was to follow it, and so does typing: that was not tested.
    if (isClosed.current || begun.some((one, at) => one !== now.current[at])) return;
    if (!isOff && (report === undefined || (!report.ok && report.needs_login !== true))) return;
    await work.run(isOff ? addOff : 'Add server', async () => {
      const found = read();
      if (found === undefined) return;
      const entry = isOff ? { ...found.entry, enabled: false } : found.entry;
      const { added, not_in_force: why } = await call('mcp.add', { server: form.name, profile, entry, values: 'all' });
      announce(why === undefined ? `Server ${added} added.` : `Server ${added} is written, but not in force: ${why}`);
      onClose();
      goWithin('servers', `${profile}/${added}`);
    });
  };
  const report = work.reportOf(form);
  const hasFailed = report !== undefined && !report.ok && report.needs_login !== true;
  return (
    <form
      class="sheetform"
      onSubmit={(event) => {
        event.preventDefault();
        void add(false);
      }}
    >
      <div class="in">
        {choice}
        {served.length > 1 ? (
          <Select
            label="Profile"
            value={profile}
            options={served.map((name) => [name, name] as const)}
            onChoose={setProfile}
          />
        ) : null}
        <ServerFields
          form={form}
          faults={work.answered.faults}
          hasName
          change={(changes) => {
            setTyped((old) => ({ ...old, ...changes }));
            work.forget(changes);
          }}
        />
        <Under work={work} form={form} onLeft={(left) => setTyped((old) => ({ ...old, left }))} onAgain={test} />
      </div>
      <footer>
        <span class="hint grow">Nothing is written before you add it.</span>
        <button type="button" class="btn tall" disabled={isWriting} onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="btn tall" disabled={work.busy !== ''} onClick={() => void test()}>
          {work.busy === 'Test' ? 'Testing…' : 'Test'}
        </button>
        {hasFailed ? (
          <button type="button" class="btn tall" disabled={work.busy !== ''} onClick={() => void add(true)}>
            {addOff}
          </button>
        ) : (
          <button type="submit" class="btn primary tall" disabled={work.busy !== ''}>
            {work.busy === 'Add server' ? 'Adding…' : 'Add server'}
          </button>
        )}
      </footer>
    </form>
  );
}

const addOff = 'Add anyway, disabled';

export function EditSheet({
  detail: { name: server, profile, entry },
  onClose,
}: {
  readonly detail: ServerDetail;
  readonly onClose: () => void;
}): JSX.Element {
  const before = useRef(formOf(server, entry)).current;
  const [form, setForm] = useState(before);
  const work = useWork();
  const read = (): { changes: JsonObject } | undefined => {
    const found = changesOfForm(before, form);
    if ('changes' in found) return found;
    work.refuse(found.faults);
    return undefined;
  };
  const test = (): Promise<ProbeReport | undefined> =>
    work.run('Test', async () => {
      const found = read();
      if (found === undefined) return undefined;
      await call('mcp.edit', { server, profile, changes: found.changes, dry: true });
      return work.keep(form, await call('mcp.test', { server, profile, changes: found.changes }));
    });
  const save = (): Promise<void> =>
    work
      .run('Save changes', async () => {
        const found = read();
        if (found === undefined) return;
        const { not_in_force: why } = await call('mcp.edit', {
          server,
          profile,
          changes: found.changes,
          values: 'all',
        });
        announce(why === undefined ? `Server ${server} changed.` : `Written, but not in force: ${why}`);
        onClose();
      })
      .then(() => {});
  return (
    <Dialog title={`Edit server ${server}`} sheet keepsText busy={work.busy === 'Save changes'} onClose={onClose}>
      <form
        class="sheetform"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div class="in">
          <div class="field">
            <span>How is it reached?</span>
            <div>
              <Segmented
                label="Kind"
                value={form.kind}
                options={[
                  ['command', 'Command'],
                  ['url', 'URL'],
                ]}
                onChoose={(kind) => setForm((old) => withKind(before, old, kind))}
              />
            </div>
          </div>
          <ServerFields
            form={form}
            faults={work.answered.faults}
            hasName={false}
            change={(changes) => {
              setForm((old) => ({ ...old, ...changes }));
              work.forget(changes);
            }}
          />
          <Under work={work} form={form} onLeft={(left) => setForm((old) => ({ ...old, left }))} onAgain={test} />
        </div>
        <footer>
          <span class="hint grow">Other keys and all comments of the entry stay as they are.</span>
          <button type="button" class="btn tall" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="btn tall" disabled={work.busy !== ''} onClick={() => void test()}>
            {work.busy === 'Test' ? 'Testing…' : 'Test'}
          </button>
          <button type="submit" class="btn primary tall" disabled={work.busy !== ''}>
            {work.busy === 'Save changes' ? 'Saving…' : 'Save changes'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The errors, and the result of a test. */
function Under({
  work,
  form,
  onLeft,
  onAgain,
}: {
  readonly work: Work;
  readonly form: ServerForm;
  readonly onLeft: (left: readonly string[]) => void;
  readonly onAgain: () => unknown;
}): JSX.Element {
  const { faults, staleFor } = work.answered;
  const report = work.reportOf(form);
  return (
    <>
      {faults.general === undefined ? null : (
        <p class="hint fault" role="alert">
          {withCode(faults.general)}
        </p>
      )}
      {staleFor === undefined ? null : <NeedsFresh what="Nothing was written yet." button={staleFor} />}
      {report === undefined ? null : (
        <TestResult
          report={report}
          left={form.left}
          busy={work.busy !== ''}
          onLeft={onLeft}
          onAgain={() => void onAgain()}
        />
      )}
    </>
  );
}

type Work = ReturnType<typeof useWork>;

/** The state of a sheet's buttons: the busy one, the refusal, and the last test with its form. */
function useWork() {
  const [busy, setBusy] = useState('');
  const [answered, setAnswered] = useState(nothing);
  const [tested, setTested] = useState<{ readonly form: string; readonly report: ProbeReport }>();
  const keyOf = ({ left: _, ...form }: ServerForm): string => JSON.stringify(form);
  return {
    busy,
    answered,
    refuse: (faults: FormFaults) => setAnswered({ faults }),
    /** The last test, if the form is as it was then: it may have been changed while the test ran. */
    reportOf: (form: ServerForm) => (tested?.form === keyOf(form) ? tested.report : undefined),
    keep(form: ServerForm, report: ProbeReport) {
      setTested({ form: keyOf(form), report });
      return report;
    },
    /** Discards the faults of what was changed. */
    forget(changes: Partial<ServerForm>) {
      const { faults } = answered;
      const own = 'values' in changes ? 'values' : Object.keys(changes)[0];
      setAnswered({
        faults: Object.fromEntries(Object.entries(faults).filter(([key]) => key !== own && key !== 'general')),
      });
    },
    async run<Value>(button: string, act: () => Promise<Value>): Promise<Value | undefined> {
      setBusy(button);
      setAnswered(nothing);
      try {
        return await act();
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
