/**
 * A form from a JSON Schema: for the arguments of a tool, and for what a server asks a person. Problems are shown at their
 * fields and announced to screen readers.
 * @see INS-2, TRU-3 and SEC-7 in docs/specification.md
 */

import type { ComponentChildren, JSX, TargetedClipboardEvent, TargetedInputEvent } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import {
  entriesOf,
  type FormEntries,
  type FormField,
  fieldsOf,
  quotedFields,
  readEntries,
} from '../data/form-fields.ts';

interface SchemaFormProps {
  readonly schema: Json | undefined;
  /** Whether it is a server's question, whose texts are shown in quotes. */
  readonly isQuestion?: boolean;
  /** Prefix of the fields' ids, to keep several forms apart. */
  readonly id: string;
  readonly onValues: (values: JsonObject) => void;
  /** The buttons. */
  readonly children: ComponentChildren;
}

export function SchemaForm({ schema, isQuestion = false, id, onValues, children }: SchemaFormProps): JSX.Element {
  const fields = useMemo(() => {
    const read = fieldsOf(schema);
    return isQuestion ? quotedFields(read) : read;
  }, [schema, isQuestion]);
  const [entries, setEntries] = useState<FormEntries>(() => entriesOf(fields));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});

  /** Half a date or number, which the browser gives as nothing typed. */
  function unfinished(): Readonly<Record<string, string>> {
    const control = ({ name }: FormField): HTMLElement | null => document.getElementById(`${id}-${name}`);
    const bad = fields.filter((field) => (control(field) as HTMLInputElement | null)?.validity?.badInput === true);
    return Object.fromEntries(
      bad.map(({ name, kind }) => [name, kind === 'text' ? 'is not complete' : 'is no number']),
    );
  }

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const read = readEntries(fields, entries);
    const found = { ...(read.kind === 'refused' ? read.problems : {}), ...unfinished() };
    setProblems(found);
    const [first] = Object.keys(found);
    if (first !== undefined) document.getElementById(`${id}-${first}`)?.focus();
    else if (read.kind === 'values') onValues(read.values);
  }

  return (
    <form class="fields" onSubmit={submit} noValidate>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          id={`${id}-${field.name}`}
          entry={entries[field.name]}
          // A field may have the name of a method, such as `constructor`.
          problem={Object.hasOwn(problems, field.name) ? problems[field.name] : undefined}
          onEntry={(entry) => setEntries((old) => ({ ...old, [field.name]: entry }))}
        />
      ))}
      <div class="buttons">{children}</div>
    </form>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly id: string;
  readonly entry: FormEntries[string] | undefined;
  readonly problem: string | undefined;
  readonly onEntry: (entry: FormEntries[string]) => void;
}

function Field(props: FieldProps): JSX.Element {
  const { field, id, problem } = props;
  const told = [field.description === '' ? '' : `${id}-about`, problem === undefined ? '' : `${id}-problem`]
    .filter((one) => one !== '')
    .join(' ');
  return (
    <div class={`field ${field.kind}`}>
      <label for={id}>
        {field.label}
        {field.required ? <span class="needed"> needed</span> : null}
      </label>
      <Control {...props} told={told} />
      {field.description === '' ? null : (
        <p class="about" id={`${id}-about`}>
          {field.description}
        </p>
      )}
      {problem === undefined ? null : (
        <p class="problem" id={`${id}-problem`}>
          {field.label} {problem}
        </p>
      )}
    </div>
  );
}

function Control({ field, id, entry, problem, onEntry, told }: FieldProps & { readonly told: string }): JSX.Element {
  const common = {
    id,
    required: field.required,
    'aria-invalid': problem !== undefined,
    ...(told === '' ? {} : { 'aria-describedby': told }),
  };
  const text = typeof entry === 'string' ? entry : '';
  // A field of one line would drop the ends of lines.
  const [isLong, setLong] = useState(field.kind === 'text' && text.includes('\n'));
  function paste(event: TargetedClipboardEvent<HTMLInputElement>): void {
    const pasted = event.clipboardData?.getData('text').replace(/\r\n?/g, '\n') ?? '';
    if (!pasted.trim().includes('\n')) return;
    event.preventDefault();
    const { value, selectionStart: from, selectionEnd: to } = event.currentTarget;
    onEntry(`${value.slice(0, from ?? value.length)}${pasted}${value.slice(to ?? value.length)}`);
    setLong(true);
    // It is another element then.
    setTimeout(() => document.getElementById(id)?.focus());
  }
  const typed = {
    value: text,
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => onEntry(event.currentTarget.value),
  };
  switch (isLong ? 'long' : field.kind) {
    case 'boolean':
      return (
        <input
          {...common}
          required={false}
          type="checkbox"
          checked={entry === true}
          onChange={(event) => onEntry(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={(event) => onEntry(event.currentTarget.value)}>
          <option value="">—</option>
          {field.choices.map((choice, at) => (
            <option key={String(at)} value={String(at)}>
              {choice.label}
            </option>
          ))}
        </select>
      );
    case 'choices':
      return (
        <select
          {...common}
          multiple
          size={Math.min(6, field.choices.length)}
          onChange={(event) => onEntry([...event.currentTarget.selectedOptions].map((option) => option.value))}
        >
          {field.choices.map((choice, at) => (
            <option key={String(at)} value={String(at)} selected={Array.isArray(entry) && entry.includes(String(at))}>
              {choice.label}
            </option>
          ))}
        </select>
      );
    case 'long':
    case 'json':
      return (
        <textarea
          {...common}
          rows={field.kind === 'json' ? 3 : 5}
          class={field.kind === 'json' ? 'mono' : ''}
          placeholder={field.kind === 'json' ? 'JSON' : ''}
          value={text}
          onInput={(event) => onEntry(event.currentTarget.value)}
        />
      );
    case 'number':
    case 'integer':
      return <input {...common} {...typed} type="number" step={field.kind === 'number' ? 'any' : 1} />;
    default:
      // A text field for addresses too: the browser may refuse a valid one. The daemon checks them.
      return field.format === 'date' || field.format === 'datetime-local' ? (
        <input {...common} {...typed} type={field.format} />
      ) : (
        <input {...common} {...typed} type="text" onPaste={paste} />
      );
  }
}
