/** The dialog that creates or edits a schedule or a subscription: its own fields, then the prompt and the target. */

import type { ComponentChildren, JSX } from 'preact';
import type { JsonObject } from '../../../../machines/base/json.ts';
import { canonicalTarget, targetChoices, targetTitle } from '../../../../machines/config/targets.ts';
import { useCell } from '../data/cell.ts';
import { profiles } from '../data/live.ts';
import { call, useAsked } from '../data/rpc.ts';
import type { Attempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Field, Select } from '../parts/choice.tsx';
import { Cancel, Dialog } from '../parts/dialog.tsx';
import { Form } from '../parts/form.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';

export interface Work {
  readonly prompt: string;
  readonly deliver: string;
}

interface WorkDialogProps {
  readonly title: string;
  /** Verb and object: "Create schedule". */
  readonly yes: string;
  readonly isReady: boolean;
  readonly change: Pick<Attempt, 'busy' | 'refused'>;
  readonly work: Work;
  readonly promptHint: string;
  /** Several targets, which cannot be changed here. */
  readonly targets?: string;
  /** The target until now with its place, which another target does not get. */
  readonly before?: { readonly deliver: string; readonly extra: JsonObject };
  /** Below the target. */
  readonly below?: ComponentChildren;
  readonly onWork: (work: Work) => void;
  readonly onSave: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function WorkDialog(props: WorkDialogProps): JSX.Element {
  const { title, yes, isReady, change, work, promptHint, targets: several, onWork, onSave, onClose, children } = props;
  const busy = change.busy !== undefined;
  const targets = useAsked('targets', () => call('deliveries.targets'));
  const enabled = targets.asked.kind === 'there' ? targets.asked.value.map(({ target }) => target) : [];
  return (
    <Dialog title={title} keepsText busy={busy} onClose={onClose}>
      <WhyNot refused={change.refused} />
      <Form class="pad stack" onSubmit={onSave}>
        {children}
        <Field
          label="Prompt"
          value={work.prompt}
          onInput={(prompt) => onWork({ ...work, prompt })}
          lines={4}
          hint={promptHint}
        />
        {several === undefined ? (
          <Select
            label="Deliver to"
            value={work.deliver}
            options={targetsWith(work.deliver, enabled).map((name) => [name, targetTitle(name)] as const)}
            onChoose={(deliver) => onWork({ ...work, deliver })}
            hint={`The enabled ones come first.${lostWords(props)}`}
          />
        ) : (
          <Field
            label="Deliver to"
            value={several}
            onInput={() => {}}
            readOnly
            hint="A list of targets cannot be changed here."
          />
        )}
        {props.below}
        <div class="btns">
          <Cancel disabled={busy} />
          <Button type="submit" class="primary" disabled={busy || !isReady}>
            {yes}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function lostWords({ work, before }: Pick<WorkDialogProps, 'work' | 'before'>): string {
  const keys = Object.keys(before?.extra ?? {});
  if (before === undefined || before.deliver === work.deliver || keys.length === 0) return '';
  return ` Saving removes the ${keys.join(', ')} of ${targetTitle(before.deliver)}.`;
}

/** The present target, the log, the enabled targets, then all others. */
function targetsWith(present: string, enabled: readonly string[]): readonly string[] {
  const others = ['log', ...enabled, ...targetChoices].filter((name) => name !== canonicalTarget(present));
  return [...new Set([present, ...others])];
}

interface ProfileFieldProps {
  readonly value: string;
  readonly onChoose: (profile: string) => void;
}

/** The choice of a profile, if several are served. */
export function ProfileField({ value, onChoose }: ProfileFieldProps): JSX.Element | null {
  const served = useCell(profiles) ?? [];
  if (served.length < 2) return null;
  return <Select label="Profile" value={value} options={served.map((name) => [name, name])} onChoose={onChoose} />;
}
