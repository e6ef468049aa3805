/**
 * The form of a server, for adding and editing: its command or address, name, trust, and values. Values are masked, since
 * they are stored in `.env`.
 * @see INS-4 and CFG-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import type { FormFaults, NamedValue, ServerForm } from '../data/server-entry.ts';
import { Button } from '../parts/button.tsx';
import { Check, Field, Select } from '../parts/choice.tsx';

interface FormProps {
  readonly form: ServerForm;
  readonly faults: FormFaults;
  /** Whether the entry exists; its name is then fixed. */
  readonly hasName: boolean;
  readonly change: (changes: Partial<ServerForm>) => void;
}

export function ServerFields({ form, faults, hasName, change }: FormProps): JSX.Element {
  const isUrl = form.kind === 'url';
  return (
    <>
      {isUrl ? (
        <>
          <Field
            label="Address"
            mono
            value={form.url}
            placeholder="https://mcp.example.com/mcp"
            {...faultOf(faults.url)}
            onInput={(url) => change({ url })}
          />
          <Select
            label="Transport"
            value={form.transport}
            options={[
              ['http', 'Streamable HTTP'],
              ['sse', 'SSE'],
            ]}
            onChoose={(transport) => change({ transport })}
          />
          <Check checked={form.oauth} onChange={(oauth) => change({ oauth })}>
            It needs a login (OAuth)
          </Check>
        </>
      ) : (
        <Field
          label="Command line"
          mono
          value={form.command}
          placeholder="npx -y @modelcontextprotocol/server-filesystem ~/reports"
          hint="Runs on the gateway’s machine with the gateway’s rights. Use commands you trust."
          {...faultOf(faults.command)}
          onInput={(command) => change({ command })}
        />
      )}
      <div class={hasName ? 'cols2' : ''}>
        {hasName ? (
          <Field
            label="Name"
            mono
            value={form.name}
            hint={`Tools are named mcp__${form.name.replace(/\W/g, '_') || 'name'}__…`}
            {...faultOf(faults.name)}
            onInput={(name) => change({ name })}
          />
        ) : null}
        <Select
          label="Trust"
          value={form.trust}
          hint={form.trust === 'full' ? 'Every tool runs without asking you.' : 'Read-only tools run without asking.'}
          options={[
            ['untrusted', 'Ask before changes'],
            ['full', 'Run without asking'],
          ]}
          onChoose={(trust) => change({ trust })}
        />
      </div>
      <Values
        title={isUrl ? 'Headers' : 'Environment'}
        one={isUrl ? 'header' : 'variable'}
        values={form.values}
        fault={faults.values}
        onChange={(values) => change({ values })}
      />
    </>
  );
}

interface ValuesProps {
  readonly title: string;
  readonly one: string;
  readonly values: readonly NamedValue[];
  readonly fault: string | undefined;
  readonly onChange: (values: readonly NamedValue[]) => void;
}

function Values({ title, one, values, fault, onChange }: ValuesProps): JSX.Element {
  const set = (at: number, changes: Partial<NamedValue>): void =>
    onChange(values.map((value, index) => (index === at ? { ...value, ...changes } : value)));
  return (
    <fieldset class="field">
      <legend>{title}</legend>
      {values.map((value, at) => (
        <div key={at} class="namedvalue">
          <input
            class="mono"
            aria-label={`Name of ${one} ${at + 1}`}
            value={value.name}
            readOnly={value.held !== undefined}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => set(at, { name: event.currentTarget.value.trim() })}
          />
          <input
            class="mono"
            // A reference is not masked.
            {...(value.value === '' || value.value.startsWith('$') ? {} : { type: 'password' })}
            aria-label={`Value of ${value.name || `${one} ${at + 1}`}`}
            placeholder={value.held === undefined ? '' : `${value.held} (unchanged)`}
            value={value.value}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => set(at, { value: event.currentTarget.value })}
          />
          <Button
            icon="close"
            class="quiet icon-only"
            aria-label={`Remove ${value.name || `${one} ${at + 1}`}`}
            onClick={() => onChange(values.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      {fault === undefined ? null : (
        <span class="hint fault" role="alert">
          {fault}
        </span>
      )}
      <div class="btns">
        <Button icon="add" class="quiet" onClick={() => onChange([...values, { name: '', value: '' }])}>
          Add {one}
        </Button>
        <span class="hint">
          Values go to .env, config.yaml gets a reference. {'${NAME}'} refers to a variable that is set.
        </span>
      </div>
    </fieldset>
  );
}

function faultOf(fault: string | undefined): { readonly fault?: string } {
  return fault === undefined ? {} : { fault };
}
