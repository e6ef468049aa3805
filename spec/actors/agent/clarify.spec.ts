import t from 'tap';
import { type ClarifyAnswer, type ClarifyQuestion, createClarify } from '../../../actors/agent/clarify.ts';

const never = new AbortController().signal;

t.test('DIS-5 · TRU-3 · a question is a form for a person, and each answer is read', async (t) => {
  const asked: ClarifyQuestion[] = [];
  const rows: readonly (readonly [ClarifyAnswer, unknown])[] = [
    [
      { kind: 'approved', values: { answer: 'red' } },
      { text: 'red', isError: false },
    ],
    [
      { kind: 'approved', values: null },
      { text: '', isError: false },
    ],
    [{ kind: 'denied' }, { text: /declined/, isError: false }],
    [{ kind: 'timedOut' }, { text: /There was no answer within 300 s/, isError: false }],
  ];
  for (const [answer, expected] of rows) {
    const { call } = createClarify((question) => {
      asked.push(question);
      return Promise.resolve(answer);
    });
    t.match(await call({ question: 'Which\u{E0041}?', choices: ['red', 'red', ' ', 7, 'blue'] }, never), expected);
  }
  t.same(asked[0], {
    message: 'Which?',
    form: {
      type: 'object',
      properties: { answer: { type: 'string', title: 'Answer', enum: ['red', 'blue'] } },
      required: ['answer'],
    },
    timeoutMs: 300_000,
  });
});

t.test('DIS-5 · without choices any text is an answer, and without a question no person is asked', async (t) => {
  const forms: unknown[] = [];
  const { call } = createClarify(({ form }) => {
    forms.push(form);
    return Promise.resolve({ kind: 'denied' });
  });
  await call({ question: 'Why?', choices: 'no list' }, never);
  for (const args of [{}, { question: '' }, { question: 7 }]) t.match(await call(args, never), { isError: true });
  t.same(forms, [
    { type: 'object', properties: { answer: { type: 'string', title: 'Answer' } }, required: ['answer'] },
  ]);
});

t.test('DIS-5 · a person is asked with all choices or not at all', async (t) => {
  const forms: unknown[] = [];
  const { call } = createClarify(({ form }) => {
    forms.push(form);
    return Promise.resolve({ kind: 'denied' });
  });
  const choices = Array.from({ length: 11 }, (_, index) => `choice ${index}`);
  t.match(await call({ question: 'Which?', choices }, never), { text: /at most 10 choices/, isError: true });
  t.match(await call({ question: 'Which?', choices: choices.slice(1) }, never), { isError: false });
  t.match(forms, [{ properties: { answer: { enum: choices.slice(1) } } }]);
  t.equal(forms.length, 1);
});
