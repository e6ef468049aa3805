import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { compileFilters, type FilterVerdict, filterWords } from '../../../machines/webhook/filter.ts';
import { compilePattern, stepBudget } from '../../../machines/webhook/pattern.ts';
import { fc } from '../../support/property.ts';

const payload: JsonObject = {
  action: 'opened',
  number: 7,
  draft: false,
  none: null,
  labels: ['bug', 'ui'],
  user: { login: 'mona', roles: [{ name: 'admin' }] },
};

/** A leaf is whether it holds. */
type Tree = boolean | { readonly name: string; readonly of: readonly Tree[] };

function match(condition: JsonObject, held: JsonObject = payload): FilterVerdict['kind'] {
  const compiled = compileFilters([condition]);
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join());
  return compiled.value.match({
    payload: held,
    event: 'pull_request',
    headers: { 'x-team': 'Core' },
    list: (file) => (file === 'vip.txt' ? { has: (value) => ['mona', '7'].includes(String(value)) } : undefined),
  }).kind;
}

t.test('FIL-1 · FIL-2 · FIL-5 · every operator, without coercion', (t) => {
  const rows: readonly (readonly [JsonObject, boolean])[] = [
    [{ field: 'action', exists: true }, true],
    [{ field: 'action', exists: false }, false],
    [{ field: 'nope', exists: false }, true],
    [{ field: 'none', exists: true }, true],
    [{ field: 'nope', missing: true }, true],
    [{ field: 'action', missing: false }, true],
    [{ field: 'action', equals: 'opened' }, true],
    [{ field: 'number', equals: '7' }, false],
    [{ field: 'number', equals: 7 }, true],
    [{ field: 'draft', equals: 'false' }, false],
    [{ field: 'user', equals: { roles: [{ name: 'admin' }], login: 'mona' } }, true],
    [{ field: 'user', equals: { roles: [], login: 'mona' } }, false],
    [{ field: 'nope', equals: null }, false],
    [{ field: 'none', equals: null }, true],
    [{ field: 'nope', not_equals: 'x' }, true],
    [{ field: 'action', not_equals: 'opened' }, false],
    [{ field: 'action', contains: 'pen' }, true],
    [{ field: 'labels', contains: 'bug' }, true],
    [{ field: 'labels', contains: 'bu' }, false],
    [{ field: 'user', contains: 'login' }, true],
    [{ field: 'number', contains: '7' }, false],
    [{ field: 'user', contains: 'nope' }, false],
    [{ field: 'user', contains: ['login'] }, false],
    [{ field: 'none', contains: 'x' }, false],
    [{ field: 'action', in: ['opened', 'closed'] }, true],
    [{ field: 'number', in: ['7'] }, false],
    [{ field: 'user.login', in_file: 'vip.txt' }, true],
    [{ field: 'number', in_file: 'vip.txt' }, true],
    [{ field: 'action', in_file: 'vip.txt' }, false],
    [{ field: 'user.login', in_file: 'gone.txt' }, false],
    [{ field: 'action', regex: '^op' }, true],
    [{ field: 'action', regex: 'ene' }, true],
    [{ field: 'number', regex: '7' }, false],
    [{ field: 'user.roles.0.name', equals: 'admin' }, true],
    [{ field: 'user.roles.1.name', exists: true }, false],
    [{ field: 'event', equals: 'pull_request' }, true],
    [{ field: 'event_type', equals: 'pull_request' }, true],
    [{ field: 'headers.X-TEAM', equals: 'Core' }, true],
    [{ field: 'headers.X-Other', missing: true }, true],
    [{ field: 'headers.constructor', missing: true }, true],
    [{ field: 'payload.action', equals: 'opened' }, true],
    [{ field: '__proto__', exists: true }, false],
    [{ field: 'constructor.name', exists: true }, false],
    [
      {
        all: [
          { field: 'action', equals: 'opened' },
          { field: 'number', equals: 7 },
        ],
      },
      true,
    ],
    [
      {
        any: [
          { field: 'action', equals: 'closed' },
          { field: 'number', equals: 7 },
        ],
      },
      true,
    ],
    [{ not: { field: 'action', equals: 'closed' } }, true],
    [{ not: [{ field: 'action', equals: 'opened' }] }, false],
  ];
  for (const [condition, expected] of rows)
    t.equal(match(condition), expected ? 'matched' : 'unmatched', JSON.stringify(condition));
  t.end();
});

t.test('FIL-1 · payload. reads a wrapped payload where the sender wraps one', (t) => {
  t.equal(match({ field: 'payload.kind', equals: 'inner' }, { kind: 'outer', payload: { kind: 'inner' } }), 'matched');
  t.equal(match({ field: 'kind', equals: 'outer' }, { kind: 'outer', payload: { kind: 'inner' } }), 'matched');
  t.equal(match({ field: 'payload.kind', equals: 'outer' }, { kind: 'outer', payload: 'text' }), 'matched');
  t.end();
});

t.test('FIL-1 · says which condition failed and what it saw', (t) => {
  const compiled = compileFilters([{ field: 'action', exists: true }, { all: [{ field: 'number', in: [1, 2] }] }]);
  const verdict = compiled.ok && compiled.value.match({ payload, event: '', headers: {}, list: () => undefined });
  t.same(verdict, { kind: 'unmatched', path: [1, 'all', 0], field: 'number', operator: 'in', operand: [1, 2], saw: 7 });
  t.end();
});

t.test('FIL-1 · FIL-2 · a group that fails says which conditions failed in it, or held under a not', (t) => {
  const verdictOf = (condition: JsonObject) => {
    const compiled = compileFilters([condition]);
    return compiled.ok ? compiled.value.match({ payload, event: '', headers: {}, list: () => undefined }) : undefined;
  };
  const opened = { field: 'action', equals: 'opened' };
  const closed = { field: 'action', equals: 'closed' };
  const seven = { field: 'number', equals: 7 };
  const sawOpened = { field: 'action', operator: 'equals', operand: 'opened', saw: 'opened' };
  const sawClosed = { field: 'action', operator: 'equals', operand: 'closed', saw: 'opened' };
  const sawSeven = { field: 'number', operator: 'equals', operand: 7, saw: 7 };
  const rows: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ not: opened }, { operator: 'not', inner: [{ path: [0, 'not'], ...sawOpened }] }],
    [{ not: [opened, seven] }, { operator: 'not', inner: [sawOpened, sawSeven] }],
    [{ not: { any: [closed, seven] } }, { operator: 'not', inner: [sawSeven] }],
    [{ not: { not: closed } }, { operator: 'not', inner: [{ operator: 'not', inner: [sawClosed] }] }],
    [{ any: [closed] }, { path: [0, 'any', 0], ...sawClosed }],
    [
      { any: [closed, { not: seven }] },
      { operator: 'any', inner: [sawClosed, { operator: 'not', inner: [sawSeven] }] },
    ],
    [
      { field: 'action', in_file: 'gone.txt' },
      { operand: 'gone.txt', because: 'the list cannot be read' },
    ],
  ];
  for (const [condition, expected] of rows) {
    t.match(verdictOf(condition), { kind: 'unmatched', ...expected }, JSON.stringify(condition));
  }
  t.equal(verdictOf({ not: { not: opened } })?.kind, 'matched');
  t.equal(verdictOf({ not: { field: 'action', in_file: 'gone.txt' } })?.kind, 'matched', 'no list, so no entry of it');
  t.end();
});

t.test('FIL-3 · says which lists are named, and where', (t) => {
  const named = { field: 'a', in_file: 'lists/vip.txt' };
  const compiled = compileFilters([{ any: [named, { not: named }] }]);
  t.same(compiled.ok && compiled.value.lists, [
    { path: [0, 'any', 0, 'in_file'], file: 'lists/vip.txt' },
    { path: [0, 'any', 1, 'not', 'in_file'], file: 'lists/vip.txt' },
  ]);
  const outside = compileFilters([{ any: [named, { not: named }] }], (file) => file === 'lists/vip.txt');
  t.match(outside, {
    ok: false,
    problems: [
      { path: [0, 'any', 0, 'in_file'], code: 'filter-list-outside' },
      { path: [0, 'any', 1, 'not', 'in_file'], code: 'filter-list-outside' },
    ],
  });
  t.end();
});

t.test('FIL-2 · a malformed condition is a finding at start', (t) => {
  const nested = (levels: number): JsonObject =>
    levels === 0 ? { field: 'a', exists: true } : { not: nested(levels - 1) };
  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ field: 'a' }, 'filter-operator'],
    [{ field: 'a', equals: 1, in: [] }, 'filter-operator'],
    [{ field: 'a', equal: 1 }, 'filter-operator'],
    [{ equals: 1 }, 'filter-malformed'],
    [{ field: 'a', in: 'x' }, 'filter-operand'],
    [{ field: 'a', exists: 'yes' }, 'filter-operand'],
    [{ field: 'a', in_file: '' }, 'filter-operand'],
    [{ field: 'a', in: [] }, 'filter-empty'],
    [{ any: [] }, 'filter-empty'],
    [{ not: [] }, 'filter-empty'],
    [{ all: [] }, 'filter-empty'],
    [{ not: { any: [{ all: [] }] } }, 'filter-empty'],
    [{ field: 'a', in_file: 7 }, 'filter-operand'],
    [{ field: 'a', regex: 7 }, 'filter-operand'],
    [{ field: 'a', missing: 'no' }, 'filter-operand'],
    [{ field: '', equals: 1 }, 'filter-malformed'],
    [{ field: 'a', regex: '(' }, 'filter-regex'],
    [{ field: 'a', regex: '(a)\\1' }, 'filter-regex'],
    [{ all: { field: 'a', exists: true } }, 'filter-malformed'],
    [{ all: [], any: [] }, 'filter-malformed'],
    [{ not: 'x' } as unknown as JsonObject, 'filter-malformed'],
    [nested(200), 'filter-malformed'],
  ];
  for (const [condition, code] of rows) {
    const compiled = compileFilters([condition]);
    t.equal(!compiled.ok && compiled.problems[0]?.code, code, JSON.stringify(condition));
  }
  t.ok(compileFilters([nested(199)]).ok, 'the deepest groups');
  t.match(compileFilters([{ field: 'a', equals: 1, in: [] }]), {
    problems: [{ message: 'a condition has exactly one operator; found equals and in' }],
  });
  t.end();
});

t.test('FIL-4 · a text that is too long for its pattern is not searched, and the verdict says so', (t) => {
  const verdictOf = (condition: JsonObject, text: string): FilterVerdict => {
    const compiled = compileFilters([condition]);
    if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join());
    return compiled.value.match({ payload: { text }, event: '', headers: {}, list: () => undefined });
  };
  const regex = '[a-z]{1,500}[0-9]';
  const condition = { field: 'text', regex };
  const pattern = compilePattern(regex);
  const longest = pattern.ok ? pattern.maxTextLength : 0;
  const fits = `${'a'.repeat(longest - 1)}0`;
  const undecided = `the text has ${longest + 1} characters; this pattern searches at most ${longest}`;

  t.equal(verdictOf(condition, fits).kind, 'matched', 'exactly the budget is searched');
  t.match(verdictOf(condition, `${fits}0`), { kind: 'unmatched', field: 'text', undecided });
  t.match(
    verdictOf({ not: condition }, `${fits}0`),
    { kind: 'unmatched', undecided },
    'its opposite does not hold either',
  );
  t.end();
});

t.test('FIL-4 · an undecided filter leaves its group undecided unless the rest decides', (t) => {
  const long = { text: 'a'.repeat(stepBudget + 1), yes: 1 };
  const undecided = { field: 'text', regex: 'a' };
  const holds = { field: 'yes', equals: 1 };
  const fails = { field: 'yes', equals: 2 };
  const rows: readonly (readonly [JsonObject, boolean])[] = [
    [{ any: [undecided, holds] }, true],
    [{ any: [undecided, fails] }, false],
    [{ all: [undecided, holds] }, false],
    [{ not: { all: [undecided, fails] } }, true],
    [{ not: { all: [undecided, holds] } }, false],
    [{ not: { any: [undecided, fails] } }, false],
    [{ not: { any: [undecided, holds] } }, false],
    [{ not: { not: undecided } }, false],
  ];
  for (const [condition, expected] of rows)
    t.equal(match(condition, long), expected ? 'matched' : 'unmatched', JSON.stringify(condition));
  t.end();
});

t.test('FIL-4 · a pattern too big for even a short text is a finding', (t) => {
  const compiled = compileFilters([{ field: 'a', regex: 'a{1,1000}b{1,1000}c{1,1000}' }]);
  t.match(compiled, {
    ok: false,
    problems: [{ code: 'filter-regex', message: /steps per character; 4000 are allowed/ }],
  });
  t.end();
});

t.test('FIL-1 · FIL-2 · a payload nested beyond the stack is compared like any other', (t) => {
  const deep = JSON.parse(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`) as JsonObject;
  t.equal(match({ field: 'a', equals: [] }, deep), 'unmatched');
  t.equal(match({ field: 'a', contains: [[]] }, deep), 'unmatched');
  t.equal(match({ field: 'a', in: [[[[]]]] }, deep), 'unmatched');
  t.equal(match({ field: `a${'.0'.repeat(100_000)}`, exists: true }, deep), 'matched');
  t.end();
});

t.test('FIL-2 · not is the opposite, and equality is that of JSON values', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const held = { value: one } as JsonObject;
      const equals = { field: 'value', equals: other } as JsonObject;
      const same = JSON.stringify(one) === JSON.stringify(other);
      const verdict = match(equals, held);
      return (
        (!same || verdict === 'matched') && (match({ not: equals }, held) === 'matched') !== (verdict === 'matched')
      );
    }),
  );
  t.end();
});

t.test('FIL-2 · FIL-4 · each condition is tried at most once, however deep it stands', (t) => {
  const nested = (depth: number, inner: JsonObject): JsonObject =>
    depth === 0 ? inner : { not: nested(depth - 1, inner) };
  const judge = (condition: JsonObject): { readonly kind: string; readonly most: number } => {
    const looks = new Map<string, number>();
    const compiled = compileFilters([condition]);
    if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join());
    const list = (file: string): ReadonlySet<string> => {
      looks.set(file, (looks.get(file) ?? 0) + 1);
      return new Set(file.startsWith('in') ? ['mona'] : []);
    };
    const { kind } = compiled.value.match({ payload, event: '', headers: {}, list });
    return { kind, most: Math.max(0, ...looks.values()) };
  };
  const looked = (file: string): JsonObject => ({ field: 'user.login', in_file: file });
  t.same(judge(nested(60, looked('in'))), { kind: 'matched', most: 1 });
  t.same(judge(nested(61, looked('in'))), { kind: 'unmatched', most: 1 });
  t.same(judge(nested(60, { any: [looked('out'), nested(60, looked('in'))] })), { kind: 'matched', most: 1 });

  let names = 0;
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      fc.boolean(),
      fc.record({
        name: fc.constantFrom('all', 'any', 'not'),
        of: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      }),
    ),
  }));
  const written = (tree: Tree): JsonObject => {
    names += 1;
    if (typeof tree === 'boolean') return looked(`${tree ? 'in' : 'out'}${names}`);
    return { [tree.name]: tree.of.map(written) };
  };
  const truth = (tree: Tree): boolean => {
    if (typeof tree === 'boolean') return tree;
    if (tree.name === 'any') return tree.of.some(truth);
    return tree.of.every(truth) !== (tree.name === 'not');
  };
  fc.assert(
    fc.property(tree, (tree) => {
      const { kind, most } = judge(written(tree));
      return most <= 1 && (kind === 'matched') === truth(tree);
    }),
  );
  t.end();
});

t.test('LIM-5 · FIL-3 · an unreadable list decides nothing that the rest does not decide', (t) => {
  const unread = { field: 'action', in_file: 'unread.txt' };
  const holds = { field: 'action', equals: 'opened' };
  const fails = { field: 'action', equals: 'closed' };
  const never = { field: 'long', regex: 'a' };
  const rows: readonly (readonly [JsonObject, string])[] = [
    [unread, 'later'],
    [{ not: unread }, 'later'],
    [{ all: [unread, holds] }, 'later'],
    [{ all: [unread, fails] }, 'unmatched'],
    [{ any: [unread, holds] }, 'matched'],
    [{ any: [fails, unread] }, 'later'],
    [{ any: [never, unread] }, 'later'],
    [{ all: [unread, never] }, 'later'],
    [{ not: { all: [never, unread] } }, 'later'],
    [{ field: 'nope', in_file: 'unread.txt' }, 'unmatched'],
  ];
  const held = { ...payload, long: 'a'.repeat(stepBudget + 1) };
  for (const [condition, expected] of rows) {
    const compiled = compileFilters([condition]);
    const list = () => ({ has: () => 'the list cannot be read now' });
    if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join());
    const verdict = compiled.value.match({ payload: held, event: '', headers: {}, list });
    const kind = verdict.kind === 'unmatched' && verdict.mayDecideLater ? 'later' : verdict.kind;
    t.equal(kind, expected, JSON.stringify(condition));
  }
  t.end();
});

t.test('FIL-1 · a condition in words, whatever group it is in', (t) => {
  const live = { field: 'live', equals: true };
  const draft = { field: 'draft', exists: true };
  for (const [condition, words] of [
    [live, 'live equals true'],
    [{ field: 'draft', missing: false }, 'draft exists'],
    [{ any: [live, draft] }, '(live equals true) or (draft exists)'],
    [{ not: live }, 'not (live equals true)'],
    [{ not: [live, draft] }, 'not ((live equals true) and (draft exists))'],
  ] as const)
    t.equal(filterWords(condition), words);
  t.end();
});
