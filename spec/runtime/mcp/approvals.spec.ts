import t, { type Test } from 'tap';
import { compile } from '../../../machines/base/compile.ts';
import { absentPool } from '../../../machines/base/pool.ts';
import type { ApprovalInput } from '../../../machines/mcp/approval.machine.ts';
import {
  type ApprovalQuestion,
  type Approvals,
  createApprovals,
  wireApproval,
} from '../../../runtime/mcp/approvals.ts';
import { newMark } from '../../../runtime/system/ids.ts';
import { startPool } from '../../support/pools.ts';

const tool: ApprovalQuestion = {
  profile: 'default',
  server: 's',
  kind: 'tool',
  tool: 'mcp__s__write',
  message: 'Writes a file',
  detail: { path: 'a.txt' },
  timeoutMs: 300_000,
};
const form: ApprovalQuestion = {
  ...tool,
  kind: 'form',
  tool: '',
  message: 'What is your name?',
  detail: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 2 }, age: { type: 'integer' } },
    required: ['name'],
  },
};

function start(t: Test, mark = newMark()): Approvals {
  const approvals: Approvals = createApprovals(
    startPool<ApprovalInput>(
      t,
      compile(wireApproval({ approvals: () => approvals, log: { log: () => {}, warnOnce: () => {} } })),
    ),
    () => 1_000_000,
    mark,
  );
  return approvals;
}

t.test('INS-2 · TRU-3 · a run’s questions are known by its key until they are answered', (t) => {
  const approvals = start(t);
  const id = approvals.ask({ ...tool, run: 'r1' }, () => {});
  approvals.ask(form, () => {});
  t.match(approvals.ofRun('r1'), [{ id, tool: 'mcp__s__write', askedAtMs: 1_000_000 }]);
  t.equal(approvals.list()[0]?.run, 'r1');
  t.same(approvals.ofRun('r2'), []);
  approvals.ask({ ...tool, run: 'r1' }, () => {});
  const second = approvals.ask({ ...form, run: 'r3' }, () => {});
  t.same(
    [...approvals.runsThatWait()],
    [
      ['r1', id],
      ['r3', second],
    ],
    'each run with its oldest question',
  );
  for (const { id: one } of approvals.list().slice(1)) approvals.answer(String(one), false, 'cli');
  approvals.answer(id, true, 'cli');
  t.same(approvals.ofRun('r1'), []);
  t.end();
});

t.test('TRU-3 · a run or a caller with 32 open questions asks no person more, and others still do', (t) => {
  const askers: readonly (readonly [string, ApprovalQuestion, ApprovalQuestion])[] = [
    ['a run', { ...tool, run: 'r1' }, { ...form, run: 'r2' }],
    ['a caller', { ...tool, caller: 'cli' }, { ...tool, caller: 'serve' }],
    ['a caller of a profile', { ...tool, caller: 'cli' }, { ...tool, caller: 'cli', profile: 'work' }],
  ];
  for (const [name, one, other] of askers) {
    const approvals = start(t);
    const answers: string[] = [];
    const heard = ({ verdict }: { readonly verdict: string }): void => void answers.push(verdict);
    const ids = Array.from({ length: 32 }, () => approvals.ask(one, heard));
    t.same(answers, [], name);

    const beyond = approvals.ask(one, heard);
    t.same([answers, approvals.show(beyond), approvals.list().length], [['tooMany'], undefined, 32], name);

    approvals.ask(other, () => t.fail('the other was answered'));
    t.equal(approvals.list().length, 33, name);

    approvals.answer(String(ids[0]), false, 'cli');
    approvals.withdraw(String(ids[1]));
    for (let more = 0; more < 3; more += 1) approvals.ask(one, heard);
    t.same(answers, ['tooMany', 'denied', 'tooMany'], `${name}: each that ended makes room for one`);
  }
  t.end();
});

t.test('TRU-1 · LIF-9 · a question beyond the limit is denied at once', (t) => {
  const answers: string[] = [];
  const approvals = createApprovals(
    () => absentPool('approvals'),
    () => 0,
    newMark(),
  );
  approvals.ask(tool, ({ verdict }) => void answers.push(verdict));
  t.same(answers, ['denied']);
  t.end();
});

t.test('TRU-1 · TRU-3 · an id from the list of an earlier start answers nothing, and no id is given twice', (t) => {
  const before = start(t);
  const old = [before.ask(tool, () => {}), before.ask(form, () => {})];
  const approvals = start(t);
  const ids = [approvals.ask(tool, () => t.fail('it was not asked')), approvals.ask(form, () => {})];

  t.same(
    old.map((id) => approvals.answer(id, true, 'cli')),
    [{ kind: 'unknown' }, { kind: 'unknown' }],
  );

  t.equal(new Set([...old, ...ids]).size, 4);
  for (const id of ids) t.match(id, /^a[bcdfghjkmnpqrstvwxz]{5}\d$/, 'short to type');
  t.end();
});

t.test('TRU-3 · a question is announced, listed, shown and answered by whichever surface', (t) => {
  const approvals = start(t);
  const asked: unknown[] = [];
  const answers: unknown[] = [];
  const off = approvals.onAsked((row) => void asked.push(row.id));
  const id = approvals.ask(tool, (answer) => void answers.push(answer));
  t.same(asked, [id]);
  t.same(approvals.list(), [
    {
      id,
      kind: 'tool',
      server: 's',
      profile: 'default',
      tool: 'mcp__s__write',
      call: '{"path":"a.txt"}',
      message: 'Writes a file',
      asked_at: '1970-01-01T00:16:40.000Z',
      expires_at: '1970-01-01T00:21:40.000Z',
    },
  ]);
  t.same(approvals.show(id)?.detail, { path: 'a.txt' });
  t.same(approvals.answer(id, true, 'page'), { kind: 'taken' });
  t.same(answers, [{ verdict: 'approved', values: null }]);
  t.same([approvals.list(), approvals.show(id)], [[], undefined]);
  t.same(approvals.answer(id, false, 'cli'), { kind: 'unknown' }, 'the first answer stands');
  off();
  approvals.ask(tool, () => {});
  t.equal(asked.length, 1);
  approvals.ask({ ...tool, detail: { blanks: `${' '.repeat(9)}\u202e`, text: 'x'.repeat(500) } }, () => {});
  const { call = '' } = approvals.list()[1] ?? {};
  t.match(call, /^\{"blanks":" …\(9 blanks\)… \\u202e","text":"x+…$/, 'on one line, with nothing hidden');
  t.equal(call.length, 201);
  t.end();
});

t.test('TRU-1 · a denial says so; each question has its own answer', (t) => {
  const approvals = start(t);
  const answers: unknown[] = [];
  const first = approvals.ask(tool, ({ verdict }) => void answers.push(['first', verdict]));
  const second = approvals.ask(tool, ({ verdict }) => void answers.push(['second', verdict]));
  t.not(first, second);
  approvals.answer(second, false, 'cli');
  approvals.answer(first, true, 'cli');
  t.same(answers, [
    ['second', 'denied'],
    ['first', 'approved'],
  ]);
  t.same(approvals.answer('a99', true, 'cli'), { kind: 'unknown' });
  t.end();
});

t.test('TRU-3 · a question that is withdrawn is gone and answers no call', (t) => {
  const approvals = start(t);
  const id = approvals.ask(tool, () => t.fail('it was withdrawn'));
  approvals.withdraw(id);
  t.same(approvals.list(), []);
  t.same(approvals.answer(id, true, 'cli'), { kind: 'unknown' });
  approvals.withdraw('a99');
  t.end();
});

t.test('SRV-1 · values that do not fit the form are refused with every finding, and the question stays', (t) => {
  const approvals = start(t);
  const answers: unknown[] = [];
  const id = approvals.ask(form, (answer) => void answers.push(answer));
  const refused = approvals.answer(id, true, 'cli', { age: 'old' });
  t.equal(refused.kind, 'refused');
  t.match(refused.kind === 'refused' && refused.reason, /name .*; age |age .*; name /);
  t.equal(approvals.list().length, 1);
  t.same(approvals.answer(id, true, 'cli', { name: 'Ada', age: '36' }), { kind: 'taken' });
  t.same(answers, [{ verdict: 'approved', values: { name: 'Ada', age: 36 } }], 'typed as the form asks');
  t.end();
});

t.test('SEC-7 · what a refusal of values names of the form is in quotes', (t) => {
  const approvals = start(t);
  const posing = 'name is fine.\n? write_file of disk wants a yes';
  const detail = { type: 'object', properties: { [posing]: { type: 'integer' } } };
  const id = approvals.ask({ ...form, detail }, () => {});
  t.same(approvals.answer(id, true, 'cli', { [posing]: 'old' }), {
    kind: 'refused',
    reason: '“name is fine. ? write_file of disk wants a yes” takes a number',
  });
  approvals.withdraw(id);
  t.end();
});

t.test('SRV-1 · a form may be denied without values', (t) => {
  const approvals = start(t);
  const answers: unknown[] = [];
  const id = approvals.ask(form, (answer) => void answers.push(answer));
  t.same(approvals.answer(id, false, 'cli'), { kind: 'taken' });
  t.same(answers, [{ verdict: 'denied', values: null }]);
  t.end();
});

t.test('TRU-5 · the end of one attempt takes no question of the next', (t) => {
  const approvals = start(t);
  const heard: string[] = [];
  const forgetFirst = approvals.whileAsked('r1', (waits) => void heard.push(`first ${waits}`));
  const ofFirst = approvals.ask({ ...tool, run: 'r1' }, ({ verdict }) => void heard.push(verdict));
  const forgetSecond = approvals.whileAsked('r1', (waits) => void heard.push(`second ${waits}`));
  const ofSecond = approvals.ask({ ...tool, run: 'r1' }, () => {});

  forgetFirst();

  t.equal(approvals.show(ofFirst), undefined, 'its own question ends with it');
  t.ok(approvals.show(ofSecond));
  approvals.ask({ ...tool, run: 'r1' }, () => {});
  approvals.answer(ofSecond, false, 'cli');
  for (const { id } of approvals.list()) approvals.answer(String(id), false, 'cli');
  t.same(heard, ['first true', 'second true', 'denied', 'second false'], 'the next one is still followed');
  forgetSecond();
  t.end();
});

t.test('TRU-1 · TRU-3 · a yes for the run covers the tool as it was shown, for that run, until it ends', (t) => {
  const approvals = start(t);
  const answers: string[] = [];
  const definition = { name: 'write', description: 'Writes a file' };
  const ask = (name: string, more: Partial<ApprovalQuestion> = {}, shown: object = definition): string =>
    approvals.ask(
      { ...tool, run: 'r1', call: { tool: { tool: 'write' }, args: {}, definition: shown } as never, ...more },
      ({ verdict }) => void answers.push(`${name} ${verdict}`),
    );
  const end = approvals.whileAsked('r1', () => {});
  const mine = { server: 's', tool: 'mcp__s__write', definition };
  const first = ask('first');
  ask('same');
  const others = [
    ask('another tool', { tool: 'mcp__s__drop' }),
    ask('another server', { server: 'other' }),
    ask('another run', { run: 'r2' }),
    ask('changed', {}, { ...definition, description: 'Writes anything' }),
  ];
  const loose = ask('without a run', { run: undefined as never, caller: 'cli' });
  t.match(approvals.answer(loose, true, 'page', undefined, { remember: 'run' }), {
    kind: 'invalid',
    reason: /^no run asked this/,
  });
  t.match(approvals.answer(others[2] ?? '', true, 'page', undefined, { remember: 'run' }), {
    kind: 'invalid',
    reason: 'its run has ended',
  });
  t.same(answers, [], 'what cannot be remembered is not answered either');
  t.notOk(approvals.isAllowed('r1', mine));

  t.same(approvals.answer(first, true, 'page', undefined, { remember: 'run' }), { kind: 'taken' });

  t.same(answers, ['first approved', 'same approved']);
  t.match(approvals.answered(), [
    { by: 'page', remember: 'run', verdict: 'approved' },
    { by: 'page', remember: 'run', verdict: 'approved' },
  ]);
  t.same(
    approvals.list().map(({ id }) => id),
    [...others, loose],
  );
  t.ok(approvals.isAllowed('r1', mine));
  for (const [run, other] of [
    ['r2', mine],
    [undefined, mine],
    ['r1', { ...mine, server: 'other' }],
    ['r1', { ...mine, tool: 'mcp__s__drop' }],
    ['r1', { ...mine, definition: { ...definition, title: 'T' } }],
  ] as const)
    t.notOk(approvals.isAllowed(run, other), JSON.stringify([run, other]));

  end();
  t.notOk(approvals.isAllowed('r1', mine), 'the next attempt asks again');
  t.same(approvals.list().length, 2, 'its questions are denied');
  t.same(answers.slice(2), ['another tool denied', 'another server denied', 'changed denied']);
  t.end();
});
