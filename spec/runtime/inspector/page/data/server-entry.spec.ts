import t from 'tap';
import {
  changesOfForm,
  emptyForm,
  entryOfForm,
  formOf,
  withKind,
} from '../../../../../runtime/inspector/page/data/server-entry.ts';

t.test('INS-4 · the form of an entry changes nothing, and each field only its key', (t) => {
  const entry = {
    command: 'npx',
    args: ['-y', 'a b'],
    env: { TOKEN: '${TOKEN}', LEVEL: 'debug' },
    timeout: 5,
    tools: { exclude: 'x' },
  };
  const form = formOf('files', entry);
  t.equal(form.command, "npx -y 'a b'");
  t.same(changesOfForm(form, form), { changes: {} });
  const rows = [
    [{ command: 'npx' }, { command: 'npx', args: null }],
    [{ trust: 'untrusted' }, { trust: 'untrusted' }],
    [{ values: form.values.slice(1) }, { env: { TOKEN: null } }],
    [{ values: form.values.map((one) => ({ ...one, value: 'new' })) }, { env: { TOKEN: 'new', LEVEL: 'new' } }],
    [{ left: [] }, { tools: { exclude: null } }],
    [
      { kind: 'url', url: 'https://x.example/', values: [] },
      { url: 'https://x.example/', command: null, args: null, env: null, cwd: null },
    ],
  ] as const;
  for (const [change, changes] of rows) {
    t.same(changesOfForm(form, { ...form, ...change }), { changes }, JSON.stringify(change));
  }
  t.end();
});

t.test('INS-4 · the variables of an entry are no headers once it is reached by an address', (t) => {
  const form = formOf('files', { command: 'npx', env: { TOKEN: '${TOKEN}' } });
  const typed = { name: 'X-Key', value: 'x' };

  const changed = withKind(form, { ...form, values: [...form.values, typed] }, 'url');

  t.same([changed.kind, changed.values], ['url', [typed]]);
  t.same(withKind(form, changed, 'command').values, [...form.values, typed]);
  t.same(withKind(form, form, 'command'), form);
  t.end();
});

t.test('INS-4 · what is missing is named at its field', (t) => {
  t.match(entryOfForm(emptyForm), { faults: { command: /Type the command/ } });
  t.match(entryOfForm({ ...emptyForm, command: 'a "b' }), { faults: { command: 'A " is not closed.' } });
  t.match(entryOfForm({ ...emptyForm, kind: 'url' }), { faults: { url: /Type the address/ } });
  t.match(entryOfForm({ ...emptyForm, command: 'a', values: [{ name: '', value: 'x' }] }), {
    faults: { values: /no name/ },
  });
  const valuesOf = (...names: readonly string[]) => names.map((name) => ({ name, value: 'x' }));
  const url = { ...emptyForm, kind: 'url', url: 'https://x.example/' } as const;
  t.match(entryOfForm({ ...emptyForm, command: 'a', values: valuesOf('A', 'a', 'A') }), {
    faults: { values: /^A is there twice/ },
  });
  t.match(entryOfForm({ ...url, values: valuesOf('X-Key', 'x-key') }), { faults: { values: /^x-key is there twice/ } });
  t.match(entryOfForm({ ...emptyForm, command: 'a', values: valuesOf('A', 'a') }), {
    entry: { env: { A: 'x', a: 'x' } },
  });
  t.end();
});
