/** Controls with which a person chooses: segments, tabs, fields. */

import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Icon } from './icons.tsx';

type Options<Value extends string> = readonly (readonly [Value, ComponentChildren])[];

export interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: Options<Value>;
  readonly onChoose: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, value, options, onChoose }: ChoiceProps<Value>): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form.
    <div class="seg" role="group" aria-label={label}>
      {options.map(([name, words]) => (
        <button key={name} type="button" aria-pressed={name === value} onClick={() => onChoose(name)}>
          {words}
        </button>
      ))}
    </div>
  );
}

/** Tabs with the panel of the chosen one: one tab stop, arrows between them. */
export function Tabs<Value extends string>({
  label,
  value,
  options,
  onChoose,
  children,
}: ChoiceProps<Value> & { readonly children: ComponentChildren }): JSX.Element {
  const id = useId();
  const at = options.findIndex(([name]) => name === value);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const next = (at + step + options.length) % options.length;
    const [name] = options[next] ?? [];
    if (name === undefined) return;
    event.preventDefault();
    onChoose(name);
    document.getElementById(`${id}-${name}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {options.map(([name, words]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === value}
            aria-controls={`${id}-panel`}
            tabIndex={name === value ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {words}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${value}`}>
        {children}
      </div>
    </>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Why the input is invalid. */
  readonly fault?: string;
}

interface TextProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly mono?: boolean;
  readonly lines?: number;
  readonly placeholder?: string;
  readonly secret?: boolean;
  /** For password managers; by default nothing. */
  readonly autocomplete?: 'username' | 'current-password';
  readonly readOnly?: boolean;
}

export function Field({
  label,
  hint,
  fault,
  value,
  onInput,
  mono = false,
  lines = 1,
  placeholder,
  secret = false,
  autocomplete,
  readOnly = false,
}: TextProps): JSX.Element {
  const id = useId();
  const props = {
    class: mono ? 'mono' : '',
    value,
    // The hint is a description, not a part of the name.
    'aria-label': label,
    'aria-invalid': fault !== undefined,
    'aria-describedby': id,
    ...(placeholder === undefined ? {} : { placeholder }),
  };
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is one of the two below.
    <label class="field">
      <span>{label}</span>
      {lines > 1 ? (
        <textarea {...props} rows={lines} onInput={(event) => onInput(event.currentTarget.value)} />
      ) : (
        <input
          {...props}
          {...(secret ? { type: 'password' } : {})}
          autocomplete={autocomplete ?? 'off'}
          readOnly={readOnly}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
      <Under id={id} hint={hint} fault={fault} />
    </label>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly children?: ComponentChildren;
}

/** Filters a list. The placeholder is its name; the children come after the field. */
export function SearchField({ label, value, onInput, children }: SearchFieldProps): JSX.Element {
  return (
    <div class="search">
      <Icon name="search" />
      <div class="input">
        <input
          type="search"
          aria-label={label}
          placeholder={label}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </div>
      {children}
    </div>
  );
}

export function Select<Value extends string>({
  label,
  hint,
  fault,
  value,
  options,
  onChoose,
}: FieldProps & {
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChoose: (value: Value) => void;
}): JSX.Element {
  const id = useId();
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        aria-label={label}
        aria-describedby={id}
        onChange={(event) => {
          const found = options.find(([name]) => name === event.currentTarget.value);
          if (found !== undefined) onChoose(found[0]);
        }}
      >
        {options.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      <Under id={id} hint={hint} fault={fault} />
    </label>
  );
}

interface CheckProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ComponentChildren;
}

export function Check({ checked, onChange, children }: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

interface UnderProps {
  readonly id: string;
  readonly hint: ComponentChildren;
  readonly fault: string | undefined;
}

function Under({ id, hint, fault }: UnderProps): JSX.Element {
  return (
    <span
      id={id}
      class={fault === undefined ? 'hint' : 'hint fault'}
      {...(fault === undefined ? {} : { role: 'alert' })}
    >
      {fault ?? hint}
    </span>
  );
}
