/**
 * The form of a server, and the entry or the changes of an entry that it means. Independent of the page.
 * @see INS-4 and CFG-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../../machines/base/json.ts';
import { joinCommandLine, splitCommandLine } from './command-line.ts';

export interface NamedValue {
  readonly name: string;
  readonly value: string;
  /** The value in the entry; an empty field keeps it. */
  readonly held?: string;
}

export interface ServerForm {
  readonly kind: 'command' | 'url';
  readonly name: string;
  readonly command: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly oauth: boolean;
  readonly trust: 'untrusted' | 'full';
  /** Environment of a command, or headers of an address. */
  readonly values: readonly NamedValue[];
  /** Tools that are left out. */
  readonly left: readonly string[];
}

export const emptyForm: ServerForm = {
  kind: 'command',
  name: '',
  command: '',
  url: '',
  transport: 'http',
  oauth: false,
  trust: 'untrusted',
  values: [],
  left: [],
};

export type FormFaults = Readonly<Partial<Record<'name' | 'command' | 'url' | 'values' | 'general', string>>>;

export function formOf(name: string, entry: JsonObject): ServerForm {
  const isUrl = entry.command === undefined && entry.url !== undefined;
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  const values = isUrl ? entry.headers : entry.env;
  const tools = isJsonObject(entry.tools) ? entry.tools : {};
  return {
    ...emptyForm,
    kind: isUrl ? 'url' : 'command',
    name,
    command: entry.command === undefined ? '' : joinCommandLine([String(entry.command), ...args]),
    url: typeof entry.url === 'string' ? entry.url : '',
    transport: entry.transport === 'sse' ? 'sse' : 'http',
    oauth: entry.auth === 'oauth',
    trust: entry.trust === undefined || entry.trust === 'full' ? 'full' : 'untrusted',
    values: isJsonObject(values)
      ? Object.entries(values).map(([key, held]) => ({ name: key, value: '', held: String(held) }))
      : [],
    left: [tools.exclude ?? []].flat().map(String),
  };
}

/** Returns the form with another kind. The values of the entry are those of its own kind: variables are no headers. */
export function withKind(before: ServerForm, form: ServerForm, kind: ServerForm['kind']): ServerForm {
  if (kind === form.kind) return form;
  const own = kind === before.kind ? before.values : [];
  return { ...form, kind, values: [...own, ...form.values.filter(({ held }) => held === undefined)] };
}

/** Returns the complete entry, or the form's faults. */
export function entryOfForm(form: ServerForm): { readonly entry: JsonObject } | { readonly faults: FormFaults } {
  const values = Object.fromEntries(
    form.values.filter(({ name }) => name !== '').map(({ name, value }) => [name, value]),
  );
  const common: JsonObject = {
    trust: form.trust,
    ...(form.left.length === 0 ? {} : { tools: { exclude: form.left } }),
  };
  if (form.values.some(({ name, value }) => name === '' && value !== '')) {
    return { faults: { values: 'A value has no name.' } };
  }
  const twice = repeatedName(form);
  if (twice !== undefined) return { faults: { values: `${twice} is there twice; only one of them would be kept.` } };
  if (form.kind === 'url') {
    if (form.url.trim() === '') return { faults: { url: 'Type the address of the server.' } };
    return {
      entry: {
        url: form.url.trim(),
        ...(form.transport === 'sse' ? { transport: 'sse' } : {}),
        ...(form.oauth ? { auth: 'oauth' } : {}),
        ...(Object.keys(values).length === 0 ? {} : { headers: values }),
        ...common,
      },
    };
  }
  const split = splitCommandLine(form.command);
  if (split.kind === 'open') return { faults: { command: `A ${split.quote} is not closed.` } };
  const [command, ...args] = split.words;
  if (command === undefined) return { faults: { command: 'Type the command that starts the server.' } };
  return {
    entry: {
      command,
      ...(args.length === 0 ? {} : { args }),
      ...(Object.keys(values).length === 0 ? {} : { env: values }),
      ...common,
    },
  };
}

/** Returns a name that two values have. Those of headers are the same in any case (RFC 9110 §5.1). */
function repeatedName({ kind, values }: ServerForm): string | undefined {
  const names = values.map(({ name }) => (kind === 'url' ? name.toLowerCase() : name));
  return values.find(({ name }, at) => name !== '' && names.indexOf(names[at] ?? '') < at)?.name;
}

/** Returns only what differs from the entry's form; null removes a key. */
export function changesOfForm(
  before: ServerForm,
  form: ServerForm,
): { readonly changes: JsonObject } | { readonly faults: FormFaults } {
  const read = entryOfForm(form);
  if ('faults' in read) return read;
  const { entry } = read;
  const changes: Record<string, Json> = {};
  if (form.kind === 'command' && (before.kind !== 'command' || before.command !== form.command)) {
    changes.command = entry.command ?? null;
    changes.args = entry.args ?? null;
  }
  if (form.kind === 'url') {
    if (before.url !== form.url || before.kind !== 'url') changes.url = entry.url ?? null;
    if (before.transport !== form.transport) changes.transport = entry.transport ?? null;
    if (before.oauth !== form.oauth) changes.auth = entry.auth ?? null;
  }
  if (before.kind !== form.kind) {
    const others = form.kind === 'url' ? ['command', 'args', 'env', 'cwd'] : ['url', 'headers', 'transport', 'auth'];
    for (const key of others) changes[key] = null;
  }
  if (before.trust !== form.trust) changes.trust = form.trust;
  const key = form.kind === 'url' ? 'headers' : 'env';
  const values: Record<string, Json> = {};
  const was = before.kind === form.kind ? before.values : [];
  for (const { name } of was) if (!form.values.some((one) => one.name === name)) values[name] = null;
  for (const { name, value, held } of form.values) {
    if (name !== '' && (value !== '' || held === undefined)) values[name] = value;
  }
  if (Object.keys(values).length > 0) changes[key] = values;
  if (before.left.join('\n') !== form.left.join('\n')) {
    changes.tools = { exclude: form.left.length === 0 ? null : form.left };
  }
  return { changes };
}

export function faultsOf(why: string, field = ''): FormFaults {
  const [key] = field.split('.');
  switch (key) {
    case 'server':
      return { name: why };
    case 'command':
    case 'args':
    case 'cwd':
      return { command: why };
    case 'url':
    case 'transport':
      return { url: why };
    case 'env':
    case 'headers':
      return { values: why };
    default:
      return { general: why };
  }
}
