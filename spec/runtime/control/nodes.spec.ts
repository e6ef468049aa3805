import t from 'tap';
import type { Neighbour, Neighbours } from '../../../actors/store/postgres-neighbours.ts';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { answerRequest } from '../../../runtime/control/answer.ts';
import type { Command, CommandHost } from '../../../runtime/control/command.ts';
import { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { createNodes } from '../../../runtime/control/nodes.ts';
import type { Asker } from '../../../runtime/observe/audit.ts';

interface Stage {
  readonly leads?: string;
  silent?: string | undefined;
  isAway?: boolean;
  nowMs?: number;
  gone?: string;
  /** What the answer of a gateway waits for, once it has been read there. */
  delay?: Promise<void> | undefined;
}

/** Three gateways that ask each other without a database; each command answers with its gateway, or as the stage says. */
function stage(answers: Record<string, Json | Refusal> = {}, now: Stage = {}) {
  const { leads = 'b' } = now;
  const ran: string[] = [];
  const audited: unknown[] = [];
  const hosts = new Map<string, CommandHost>();
  const all = ['a', 'b', 'c'].map(
    (node): Neighbour => ({ node, session: `s-${node}`, isLeader: node === leads, silentMs: 7 }),
  );
  for (const { node, session } of all) {
    const commandOf = (method: string): Command | undefined =>
      method.endsWith(' of another gateway')
        ? undefined
        : (_, params) => {
            ran.push(`${node} ${method} ${JSON.stringify(params)}`);
            const answer = answers[`${node} ${method}`] ?? answers[method] ?? { at: node };
            if (answer instanceof Refusal) throw answer;
            return answer;
          };
    const neighbours: Neighbours = {
      listen: async () => {},
      all: async () => {
        if (now.isAway) throw new Error('the database is away');
        return all.filter((one) => one.node !== now.gone);
      },
      close: async () => {},
      ask: async (to, question) => {
        const host = hosts.get(to);
        const answer = to === `s-${now.silent}` ? undefined : await host?.nodes?.answer(question);
        if (question.includes('approvals.list')) await now.delay;
        return answer;
      },
    };
    const host: CommandHost = {
      source: { home: '/h', env: {} },
      audit: {
        add: (asker: Asker, { method }: { readonly method: string }) => void audited.push([node, asker.who, method]),
        addReader: () => {},
        settled: async () => {},
        close: async () => {},
      } as never,
      daemon: { status: () => ({ pid: node }) } as never,
      commandOf,
      nodes: createNodes({
        neighbours: async () => neighbours,
        session: () => session,
        leads: () => node === leads,
        host: () => host,
        redact: (text) => text,
        ...(now.nowMs === undefined ? {} : { steadyMs: () => now.nowMs ?? 0 }),
      }),
    };
    hosts.set(session, host);
  }
  const ask = async (node: string, method: string, params: JsonObject = {}): Promise<unknown> => {
    const host = hosts.get(`s-${node}`);
    if (host === undefined) return undefined;
    const peer = { notify: () => {}, onEnd: () => () => {}, redact: (text: string) => text };
    const asker = { who: 'me', from: 'terminal' } as const;
    const line = (await answerRequest({ id: 1, method, params }, host, { ...peer, asker }))();
    const { result, error } = JSON.parse(line) as {
      result?: unknown;
      error?: { message: string; data?: { code: string } };
    };
    return error === undefined ? result : `${error.data?.code}: ${error.message}`;
  };
  return { ask, ran, audited, nodes: hosts.get('s-a')?.nodes };
}

t.test('SCA-3 · a request that names a gateway is answered there, by its name or its session', async (t) => {
  const { ask, ran } = stage();
  t.same(await ask('a', 'gateway.status', { node: 'c' }), { at: 'c' });
  t.same(await ask('a', 'inspect.show', { node: 's-b', actor: 'x' }), { at: 'b' });
  t.same(await ask('a', 'mcp.call', { node: 'a', name: 'x' }), { at: 'a' }, 'its own name is no other');
  t.same(ran, ['c gateway.status {}', 'b inspect.show {"actor":"x"}', 'a mcp.call {"name":"x"}']);
  t.match(
    await ask('a', 'gateway.status', { node: 'd' }),
    /^node-unknown: no gateway "d" lives; these do: "a", "b", "c"/,
  );
});

t.test('SCA-3 · SEC-1 · a gateway does for another one only what is listed, whatever that asks', async (t) => {
  const { ask, ran, nodes } = stage();
  for (const method of ['mcp.call', 'mcp.add', 'gateway.stop', 'webhook.subscribe', 'approvals.watch'])
    t.match(await ask('a', method, { node: 'b' }), /^node-unknown: .* run the command there/);
  for (const method of ['mcp.call', 'gateway.stop'])
    t.match(
      await nodes?.answer(JSON.stringify({ request: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }) })),
      /no method/,
    );
  const always = {
    jsonrpc: '2.0',
    id: 1,
    method: 'approvals.answer',
    params: { id: 'a1', grant: true, remember: 'always' },
  };
  t.match(await nodes?.answer(JSON.stringify({ request: JSON.stringify(always) })), /approval-remember/);
  for (const rubbish of ['', '{}', '{"request":5}', '{"request":"x"}', 'null', '[]'])
    t.match(await nodes?.answer(rubbish), /error/, rubbish);
  t.same(ran, []);
});

t.test('SCA-3 · deliveries are the leader’s, a run and a question those of the gateway that has them', async (t) => {
  const unknown = new Refusal('approval-unknown', 'no approval waits');
  const { ask, ran, audited } = stage({
    'approvals.answer': unknown,
    'c approvals.answer': { answered: 'x' },
    'approvals.show': unknown,
    'a runs.cancel': new Refusal('run-elsewhere', 'it is at another gateway'),
    'b runs.cancel': new Refusal('run-elsewhere', 'it is at another gateway'),
    'c runs.cancel': new Refusal('run-over', 'it has ended'),
  });
  t.same(await ask('a', 'deliveries.drop', { id: 'x' }), { at: 'b' });
  t.same(await ask('b', 'deliveries.drop', { id: 'x' }), { at: 'b' });
  t.same(await ask('a', 'approvals.answer', { id: 'x' }), { answered: 'x' });
  t.match(
    await stage({ 'approvals.show': unknown, 'c approvals.show': { id: 'x' } }, { silent: 'b' }).ask(
      'a',
      'approvals.show',
      {
        id: 'x',
      },
    ),
    { id: 'x' },
    'one that is silent keeps nobody from it',
  );
  t.equal(await ask('a', 'approvals.show', { id: 'x' }), 'approval-unknown: no approval waits', 'nobody has it');
  t.equal(await ask('a', 'runs.cancel', { id: 'x' }), 'run-over: gateway "c": it has ended');
  t.same(ran.splice(0, 2), ['b deliveries.drop {"id":"x"}', 'b deliveries.drop {"id":"x"}']);
  t.match(audited, [
    ['b', 'me', 'deliveries.drop'],
    ['a', 'me', 'deliveries.drop'],
  ]);
  const alone = stage({}, { leads: 'nobody' });
  t.same(await alone.ask('a', 'deliveries.drop', { id: 'x' }), { at: 'a' }, 'while nobody leads');
});

t.test('SCA-3 · DIS-3 · each gateway cancels its runs, this one first; one that is silent is named', async (t) => {
  const refusals = [{ id: 'r7', code: 'journal-unavailable', error: 'the disk is full' }];
  const answers = {
    'a runs.cancel': { cancelled: 5, left: 0, refusals: [] },
    'b runs.cancel': { cancelled: 2, left: 1, refusals },
    'c runs.cancel': { cancelled: 1, left: 0, refusals: [] },
  };
  const { ask, ran } = stage(answers);
  t.same(await ask('a', 'runs.cancel', { all: true, route: 'ci' }), { cancelled: 8, left: 1, refusals });
  t.match(ran, [/^a /, 'b runs.cancel {"all":true,"route":"ci"}', 'c runs.cancel {"all":true,"route":"ci"}']);
  t.match(await stage(answers, { silent: 'b' }).ask('a', 'runs.cancel', { all: true }), {
    cancelled: 6,
    left: 1,
    refusals: [{ id: 'b', code: 'node-silent', error: /gave no answer/ }],
  });
});

t.test('SCA-3 · a gateway that does not answer is named, and delays no other', async (t) => {
  const rows = [{ id: 'q' }];
  const { ask, nodes } = stage({ 'approvals.list': rows as never }, { silent: 'b' });
  t.match(
    await ask('a', 'gateway.status', { node: 'b' }),
    /^node-silent: gateway "b" gave no answer in 1 s, or has ended/,
  );
  t.match(await ask('a', 'deliveries.drop', { id: 'x' }), /^node-silent: gateway "b"/, 'the leader may still send it');
  t.same(await nodes?.ofOthers('approvals.list'), [{ id: 'q', node: 'c' }]);
  t.match(await nodes?.list(), [
    { node: 'a', self: true, leader: false, status: { pid: 'a' } },
    { node: 'b', self: false, leader: true, silent_ms: 7, error: /gave no answer/ },
    { node: 'c', self: false, status: { at: 'c' } },
  ]);
});

t.test('SCA-3 · the open questions of the others are known for ten seconds, also of one that is silent', async (t) => {
  const answers: Record<string, Json | Refusal> = {
    'a approvals.answer': new Refusal('approval-unknown', 'no approval waits'),
    'b approvals.list': [{ id: 'q1' }],
    'c approvals.list': [{ id: 'q2' }],
  };
  const now: Stage & { nowMs: number } = { nowMs: 0 };
  const { ask, nodes, ran } = stage(answers, now);
  const both = [
    { id: 'q1', node: 'b' },
    { id: 'q2', node: 'c' },
  ];
  const known = () => nodes?.questionsOfOthers();
  /** What is known once the questions that a look leads to are answered. */
  const after = async (laterMs: number) => {
    now.nowMs += laterMs;
    known();
    for (let turns = 0; turns < 100; turns += 1) await Promise.resolve();
    return known();
  };
  t.ok(known() instanceof Promise, 'nothing is known yet');
  t.ok(known() instanceof Promise, 'nor while they are asked');
  t.same(await known(), both);
  const asked = ran.length;
  const first = known();
  t.equal(await after(2_000), first, 'they are not asked at every look');
  t.equal(ran.length, asked);

  t.equal(await after(1), first, 'the same list');
  t.equal(ran.length, asked + 2);
  now.silent = 'c';
  answers['b approvals.list'] = [{ id: 'q1' }, { id: 'q3' }];
  const three = [both[0], { id: 'q3', node: 'b' }, both[1]];
  t.same(await after(2_001), three, 'one that is silent keeps its questions');
  now.isAway = true;
  t.same(await after(2_001), three, 'and all while the database is away');
  now.isAway = false;
  now.gone = 'c';
  t.same(await after(2_001), [both[0], { id: 'q3', node: 'b' }], 'one that is gone has none');
  t.same(await ask('a', 'approvals.answer', { id: 'q1' }), { at: 'b' });
  t.same(known(), [{ id: 'q3', node: 'b' }], 'one that is answered is gone at once');

  answers['b approvals.list'] = [{ id: 'q3' }, { id: 'q4' }];
  let arrive = (): void => {};
  now.delay = new Promise((resolve) => {
    arrive = resolve;
  });
  await after(2_001);
  await ask('a', 'approvals.answer', { id: 'q3' });
  arrive();
  now.delay = undefined;
  t.same(await after(0), [{ id: 'q4', node: 'b' }], 'nor does an answer that was on its way bring it back');
  now.silent = 'b';
  await ask('a', 'approvals.answer', { id: 'q4' });
  t.same(await after(2_001), [{ id: 'q4', node: 'b' }], 'one that could not be answered is open');
  now.silent = undefined;
  await ask('a', 'approvals.answer', { id: 'q4' });
  now.silent = 'b';
  t.same(await after(2_001), [], 'nor does the silence of its gateway');

  now.silent = undefined;
  answers['b approvals.list'] = [{ id: 'q4' }];
  await after(2_001);
  now.silent = 'b';
  for (let seconds = 0; seconds < 8; seconds += 2) await after(2_001);
  t.same(known(), [{ id: 'q4', node: 'b' }]);
  await after(2_001);
  t.same(known(), [], 'one that stays silent has none after ten seconds');
  now.silent = undefined;
  answers['b approvals.list'] = [{ id: 'q5' }];
  t.same(await nodes?.askQuestionsOfOthers(), [{ id: 'q5', node: 'b' }], 'asked at once');
  now.isAway = true;
  for (let seconds = 0; seconds < 10; seconds += 2) await after(2_001);
  t.equal(await known(), undefined, 'while the database is away longer, nothing is known');
  t.equal(await nodes?.askQuestionsOfOthers(), undefined);
  now.isAway = false;
  t.same(await after(2_001), [{ id: 'q5', node: 'b' }]);
});

t.test('SCA-3 · where the journal is one gateway’s own, another one cannot be named', async (t) => {
  const host: CommandHost = {
    source: { home: '/h', env: {} },
    commandOf: () => () => ({ at: 'here' }),
  };
  const peer = { notify: () => {}, onEnd: () => () => {}, redact: (text: string) => text };
  const line = (await answerRequest({ id: 1, method: 'gateway.status', params: { node: 'b' } }, host, peer))();
  t.match(JSON.parse(line), { error: { data: { code: 'node-unknown' }, message: /leave --node out/ } });
  const away = Object.assign(new Error('the journal is away'), { fault: { code: 'journal-unavailable' } });
  const failing = { ...host, commandOf: () => () => Promise.reject(away) };
  const failed = (await answerRequest({ id: 1, method: 'webhook.deliveries', params: {} }, failing, peer))();
  t.match(JSON.parse(failed), { error: { data: { code: 'journal-unavailable' }, message: 'the journal is away' } });
});
