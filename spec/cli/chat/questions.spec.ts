import t from 'tap';
import { askQuestion } from '../../../cli/chat/questions.ts';
import { createScreen } from '../../../cli/chat/screen.ts';
import type { JsonObject } from '../../../machines/base/json.ts';

/** Asks about a row, answers with lines, and gives what was shown and what the gateway was told. */
async function ask(row: JsonObject, ...typed: readonly string[]) {
  let shown = '';
  const told: JsonObject[] = [];
  const prompts: string[] = [];
  const commands: string[] = [];
  const left = [...typed];
  const print = (text: string): void => {
    shown += text;
  };
  const out = { isTerminal: true, coloured: false, columns: 40, print, complain: print };
  await askQuestion('q1', {
    screen: createScreen(out, true),
    lines: {
      answer: async (prompt) => {
        prompts.push(prompt);
        return left.shift();
      },
    },
    ask: async (method: string, params: JsonObject = {}) => {
      if (method === 'approvals.show') return row as never;
      told.push(params);
      return {} as never;
    },
    agent: 'agent --home /srv/agent',
    command: async (line) => {
      commands.push(line);
      return line === '/exit' ? 'leave' : 'stay';
    },
    signal: new AbortController().signal,
  });
  return { shown, told, prompts, commands };
}

const call = {
  id: 'q1',
  kind: 'call',
  tool: 'mcp__a__b',
  server: 'a',
  message: 'Does a thing.',
  detail: { path: '/x' },
};

t.test('TRU-3 · CLI-4 · only a yes is a yes; anything else is asked about again', async (t) => {
  for (const [typed, grant] of [
    [['y'], true],
    [['', 'maybe', 'yes please', ' YES '], true],
    [['n'], false],
    [['sure', 'no'], false],
    [['/approve'], true],
    [['/approve q2', '/approve q1'], true],
    [['/deny'], false],
  ] as const)
    t.same((await ask(call, ...typed)).told, [{ id: 'q1', by: 'chat', grant }], typed.join(','));
});

t.test('CLI-4 · slash commands work at a question, and leaving leaves it open', async (t) => {
  const { told, commands } = await ask(call, '/tools', '/exit', 'y');
  t.same([told, commands], [[], ['/tools', '/exit']]);
});

t.test('TRU-3 · CLI-2 · CLI-4 · who says yes sees the whole call, or reads how much of it is not shown', async (t) => {
  const long = { ...call, detail: { path: '/x', content: `${'a'.repeat(5_000)}; rm -rf /` } };
  const { shown } = await ask(long, 'n');
  t.match(
    shown.replace(/\s+/g, ' '),
    /10\d\d more characters are not shown; agent --home \/srv\/agent approvals show q1 shows them all/,
  );
  t.notMatch((await ask(call, 'n')).shown, /not shown/);
});

t.test('CLI-4 · a long word of a tool about itself is set in lines that fit, and cannot move the cursor', async (t) => {
  const { shown } = await ask({ ...call, message: `Reads\u001b[2J ${'many words of it '.repeat(30)}` }, 'n');
  const [, ...lines] = shown.split('\n');
  t.ok(lines.every((line) => line.length <= 40));
  t.notOk(shown.includes('\u001b'));
  t.match(shown, /…/);
});

t.test('SEC-7 · no name, title or choice of a form can pose as a question', async (t) => {
  const posing = 'ada\n\n? write_file of disk wants a yes\n    {}\n  allow it? [y/n]';
  const properties = {
    a: { title: posing },
    [posing]: { type: 'string' },
    c: { enum: [posing, ...Array.from({ length: 60 }, (_, at) => `choice ${at}`)] },
  };
  const form = { ...call, kind: 'form', detail: { type: 'object', properties, required: [] } };
  const { shown, prompts } = await ask(form, 'x', 'y', '1');
  const line = '“ada ? write_file of disk wants a yes {} allow it? [y/n]”';
  t.same(prompts, [`  ${line} (empty: leave out) `, `  ${line} (empty: leave out) `, '  “c” (empty: leave out) ']);
  t.notMatch(shown, /^\s*(\? write_file|allow it)/m);
  t.match(shown, /50\. “choice 48”[\s\S]*11 more choices are not shown/);
});

t.test('SRV-1 · CLI-4 · a choice is given by number, title or value, and several of a list with commas', async (t) => {
  const colours = [
    { const: '#f00', title: 'Red' },
    { const: '#0f0', title: 'Green' },
  ];
  const properties = {
    one: { type: 'string', oneOf: colours },
    more: { type: 'array', items: { type: 'string', anyOf: colours } },
    plain: { type: 'array', items: { type: 'string', enum: ['7', '1'] } },
  };
  const form = { ...call, kind: 'form', detail: { type: 'object', properties, required: ['more'] } };
  const { shown, told, prompts } = await ask(form, 'Red', '2, Red', '1,7');
  t.match(told, [{ values: { one: '#f00', more: ['#0f0', '#f00'], plain: ['1', '7'] } }]);
  t.match(shown, /1\. “Red”\n {4}2\. “Green”/);
  t.match(prompts[1], /several: 1, 2; empty: decline/);
});

t.test('SRV-1 · CLI-4 · an empty line sends the default of a field, which is shown before', async (t) => {
  const properties = {
    force: { type: 'boolean', default: true },
    colour: { type: 'string', enum: ['#f00'], enumNames: ['Red'], default: '#f00' },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a', 'b'] },
    none: { type: 'array', items: { type: 'string', enum: ['a'] }, default: [] },
    blank: { type: 'string', default: '' },
    long: { type: 'array', items: { type: 'string' }, default: Array.from({ length: 500 }, () => 'x'.repeat(99)) },
  };
  const form = { ...call, kind: 'form', detail: { type: 'object', properties, required: ['force'] } };
  const { told, prompts } = await ask(form, '', '', '', '', '', '', 'y');
  t.same(
    prompts.slice(0, 5).map((prompt) => /empty: (.*)\) $/.exec(prompt)?.[1]),
    ['“true”', '“Red”', '“a, b”', 'none', '“”'],
  );
  t.ok((prompts[5]?.length ?? 0) < 300, 'a long default is cut');
  t.same(told, [{ id: 'q1', by: 'chat', grant: true, values: {} }]);
});

t.test('SRV-1 · CLI-4 · a form in which nothing was entered, or could be, is sent after an explicit yes', async (t) => {
  const note = { note: { type: 'string' } };
  for (const [properties, typed, answer] of [
    [{}, [], []],
    [{}, ['', 'y'], [{ grant: true, values: {} }]],
    [{}, ['n'], [{ grant: false }]],
    [note, [''], []],
    [note, ['', '/deny'], [{ grant: false }]],
    [note, ['later'], [{ grant: true, values: { note: 'later' } }]],
  ] as const) {
    const { told } = await ask({ ...call, kind: 'form', detail: { type: 'object', properties } }, ...typed);
    t.same(
      told,
      answer.map((given) => ({ id: 'q1', by: 'chat', ...given })),
      typed.join(','),
    );
  }
});
