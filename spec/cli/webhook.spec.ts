import t from 'tap';
import { listDeliveries } from '../../cli/commands/deliveries.ts';
import { listEvents, listOrShowEvent } from '../../cli/commands/events.ts';
import { replayEvent } from '../../cli/commands/events-replay.ts';
import { explainDelivery } from '../../cli/commands/inspect-why.ts';
import { listRuns } from '../../cli/commands/runs.ts';
import {
  disableWebhook,
  holdWebhook,
  listWebhooks,
  subscribeWebhook,
  testWebhook,
} from '../../cli/commands/webhook.ts';
import { examineWebhook, showWebhook } from '../../cli/commands/webhook-show.ts';
import { waitForEvent } from '../../cli/commands/webhook-wait.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { stageCommand } from '../support/command-stage.ts';

const row = (key: string, profile = 'default'): JsonObject => ({
  key,
  delivery_id: 'd1',
  profile,
  route: 'r',
  event: 'push',
  status: 'ignored',
  received_at: '2026-01-01T00:00:00.000Z',
  attempts: 0,
});

t.test('DUR-2 · PRF-1 · lists have a column of profiles where one is not the default one', async (t) => {
  const times = { queued_at: '2026-01-01T00:00:00.000Z', attempt: 1, superseded: 0 };
  for (const [list, next] of [
    [listEvents, 'EVENT'],
    [listRuns, 'EVENT'],
    [listDeliveries, 'TRIES'],
  ] as const) {
    const rowOf = (key: string, profile?: string) => ({ ...row(key, profile), ...times, id: key, target: 'log' });
    const plain = stageCommand({ answer: [rowOf('k1')] });
    await list(plain.context);
    t.match(plain.seen.printed, /ROUTE/);
    t.notMatch(plain.seen.printed, /PROFILE/);
    const mixed = stageCommand({ answer: [rowOf('k2', 'work'), rowOf('k1')] });
    await list(mixed.context);
    t.match(mixed.seen.printed, new RegExp(`ROUTE {2}PROFILE {2}${next}`));
    t.match(mixed.seen.printed, / r {6}work /);
  }
});

t.test('CLI-2 · in lists too, the command that answers a question names the home of --home', async (t) => {
  const times = { queued_at: '2026-01-01T00:00:00.000Z', attempt: 1, superseded: 0 };
  for (const list of [listEvents, listRuns]) {
    const { context, seen } = stageCommand({ answer: [{ ...row('k1'), ...times, id: 'k1', question: 'a3' }] });
    await list({ ...context, gateway: { ...context.gateway, isNamed: true } });
    t.match(seen.printed, ' agent --home /home/me/.agent approvals show a3\n');
  }
});

t.test('RTE-2 · PRF-1 · the command that enables a route again names its profile, for a shell', async (t) => {
  for (const [name, word] of [
    ['r', 'r'],
    ['a b', "'a b'"],
  ] as const) {
    const { context, seen } = stageCommand({ args: [name], flags: { profile: 'work' }, answer: { name } });
    t.equal(await disableWebhook(context), 0);
    t.match(seen.printed, `\`agent webhook enable ${word} --profile work\` enables it`);
    const named = { ...context, gateway: { ...context.gateway, isNamed: true } };
    t.equal(await disableWebhook(named), 0);
    t.match(seen.printed, `\`agent --home /home/me/.agent webhook enable ${word} --profile work\` enables it`);
  }
});

t.test('DIS-3 · holding a disabled route does not say that its events are accepted', async (t) => {
  const { context, seen } = stageCommand({ answer: { name: 'r', profile: 'default', held: true, disabled: true } });
  t.equal(await holdWebhook(context), 0);
  t.equal(
    seen.printed,
    'Held r: its runs wait until `agent webhook release r`. It is disabled: its senders get 403 until `agent webhook enable r`.\n',
  );
});

t.test('DUR-2 · a list continues with the last key, and a full one says so in a terminal', async (t) => {
  const rows = [row('k2'), row('k1')];
  const flags = { limit: '1', before: 'k3', profile: 'work', route: 'r' };
  const full = stageCommand({ answer: rows, flags, isTerminal: true });
  await listEvents(full.context);
  t.same(full.seen.asked, [{ method: 'webhook.deliveries', limit: 2, before: 'k3', profile: 'work', route: 'r' }]);
  t.match(full.seen.printed, /--before k2 for the next page\.\n$/);
});

t.test(
  'DUR-2 · IDM-1 · an id is sent with what chooses its route, and a flag of the list beside it is misused',
  async (t) => {
    const args = ['d1'];
    const flags = { route: 'r', profile: 'work' };
    for (const [method, run] of [
      ['webhook.replay', replayEvent],
      ['inspect.why', explainDelivery],
    ] as const) {
      const { context, seen } = stageCommand({
        args,
        flags: { ...flags, json: true },
        answer: { status: 202, body: '' },
      });
      t.equal(await run(context), 0);
      t.same(seen.asked, [{ method, id: 'd1', ...flags }]);
    }
    const unread = stageCommand({ args, answer: { status: 400, body: '{}', key: 'k9' } });
    t.equal(await replayEvent(unread.context), 1);
    t.equal(unread.seen.complained, 'agent: `agent inspect why k9` has the reason\n');
    const one = stageCommand({ args, flags: { ...flags, json: true }, answer: {} });
    t.equal(await listOrShowEvent(one.context), 0);
    t.same(one.seen.asked, [{ method: 'webhook.delivery', id: 'd1', ...flags, handshake: true }]);
    for (const name of ['limit', 'before', 'since', 'status', 'follow']) {
      const { context, seen } = stageCommand({ args, flags: { [name]: '1' } });
      t.equal(await listOrShowEvent(context), 2);
      t.match(seen.complained, new RegExp(`--${name} is for the list`));
      t.same(seen.asked, []);
    }
  },
);

t.test('CON-4 · RTE-2 · the list of routes marks one that is switched off', async (t) => {
  const route = { name: 'on', events: [], deliver: 'log', url: 'http://u', enabled: true };
  const broken = { name: 'config.yaml:1', events: [], deliver: '', url: '', problem: 'no' };
  const { context, seen } = stageCommand({ answer: [route, { ...route, name: 'off', enabled: false }, broken] });
  await listWebhooks(context);
  t.match(seen.printed, /^NAME +STATE +EVENTS/);
  t.match(seen.printed, /^on +enabled +all/m);
  t.match(seen.printed, /^off +disabled +all/m);
  const usual = stageCommand({ answer: [route] });
  await listWebhooks(usual.context);
  t.notMatch(usual.seen.printed, /STATE/);
});

t.test('SUB-1 · DLV-3 · a new subscription that names what is not there is made, and says so', async (t) => {
  const answer = { name: 'cc', url: 'http://u', secret: 's', events: [], problem: 'delivers to nothing' };
  const { context, seen } = stageCommand({ args: ['cc'], answer });
  t.equal(await subscribeWebhook(context), 0);
  t.match(seen.printed, /Secret {2}s/);
  t.equal(seen.complained, 'agent: cc delivers to nothing\n');
  const held = stageCommand({ args: ['cc'], answer: { name: 'cc', url: 'http://h/cc', events: [], held: 'held' } });
  await subscribeWebhook(held.context);
  t.match(held.seen.complained, 'agent: cc is held: its runs wait until `agent webhook release cc`\n');
});

t.test('SUB-4 · SEC-7 · the command that shows the first event is safe to type, whatever its id', async (t) => {
  const { context, seen } = stageCommand({});
  const came = { ...row('0mwu633pl0000nu9ns'), status: 'accepted', delivery_id: 'd1; curl evil.example' };
  const client = { ask: () => Promise.resolve([came]), closed: new Promise(() => {}) } as never;
  await waitForEvent(context, client, { name: 'r', profile: 'default' }, new Set());
  t.equal(seen.printed, 'Came: push. See it by: agent events show 0mwu633pl0000nu9ns\n');
});

t.test('CLI-6 · DUR-2 · a dry replay whose run is held or waits for a person says so once', async (t) => {
  const { context, seen } = stageCommand({ args: ['d1'], flags: { dry: true } });
  const waits = { question: 'akfmtx7', verdict: { tone: 'needsUser', text: '' } };
  const held = { verdict: { tone: 'needsUser', text: 'Held: route r is held.' } };
  const answers = [
    { status: 202, body: '', key: 'k1' },
    held,
    held,
    waits,
    waits,
    { ended: 1, response: 'done', verdict: { tone: 'ended', text: '' } },
  ];
  t.equal(await replayEvent({ ...context, ask: (() => Promise.resolve(answers.shift())) as never }), 0);
  t.equal(seen.complained, 'Held: route r is held.\nThe run waits for a person: `agent approvals show akfmtx7`.\n');
  t.match(seen.printed, /\ndone\n$/);
});

t.test('DUR-2 · CLI-6 · what is not edited in a payload is replayed as its sender wrote it', async (t) => {
  const home = t.testdir({ 'editor.sh': 'sed s/one/two/ "$1" > "$1.new" && mv "$1.new" "$1"\n' });
  const body = '{"id":1234567890123456789,"price":1.10,"name":"one"}';
  const { context, seen } = stageCommand({
    args: ['d1'],
    flags: { edit: true },
    answer: { status: 202, body: '', key: 'k', record: { body } },
  });
  const env = { PATH: process.env.PATH, VISUAL: `sh '${home}/editor.sh'` };
  t.equal(await replayEvent({ ...context, home, env }), 0);
  t.match(seen.asked[0], { method: 'webhook.delivery', id: 'd1', acts: true });
  t.match(seen.asked[1], {
    id: 'k',
    payload: '{\n  "id": 1234567890123456789,\n  "price": 1.10,\n  "name": "two"\n}\n',
  });
});

t.test('CLI-5 · webhook doctor prints a command with the name of its route as a shell reads it', async (t) => {
  const { context, seen } = stageCommand({ answer: { name: 'my hook', refusals: [] }, args: ['my hook'] });
  t.equal(await examineWebhook(context), 0);
  t.match(seen.printed, "`agent events --route 'my hook'` lists its events");
  const findings = [{ code: 'scheme-differs', text: 'It would match after `agent webhook edit a`.' }];
  const refused = { key: 'k', received_at: '2026-01-01T00:00:00.000Z', findings };
  const proposed = stageCommand({ answer: { name: 'a', refusals: [refused] }, args: ['a'] });
  const gateway = { home: '/other', isNamed: true, socket: '' };
  await examineWebhook({ ...proposed.context, gateway });
  t.match(proposed.seen.printed, /after `agent --home \/other webhook edit a`/);
  const rows = [
    { ...row('l'), status: 'accepted' },
    { ...row('k'), status: 'refused' },
  ];
  const ask = async (method: string) => (method === 'webhook.doctor' ? { refusals: [refused] } : rows);
  const client = { ask, closed: new Promise(() => {}) } as never;
  await waitForEvent({ ...proposed.context, gateway }, client, { name: 'a', profile: 'default' }, new Set());
  t.match(proposed.seen.printed, /^→ .*`agent --home \/other webhook edit a`/m);
});

t.test('CLI-5 · a route in force that config.yaml no longer has is shown with its origin', async (t) => {
  const definition = { filters: [], skills: [], deliverExtra: {} };
  const row = { name: 'gone', url: 'u', events: [], deliver: 'log', description: '', profile: 'default', definition };
  const { context, seen } = stageCommand({ answer: { ...row, source: 'static', enabled: true }, args: ['gone'] });
  t.equal(await showWebhook(context), 0);
  t.match(seen.printed, /From +config\.yaml\n/);
  const two = { ...row, source: 'dynamic', enabled: true, secret: { set: true, older: 1 } };
  const rotated = stageCommand({ answer: two, args: ['gone'] });
  t.equal(await showWebhook(rotated.context), 0);
  t.match(
    rotated.seen.printed,
    /Secrets +2 verify; `agent .*webhook edit gone --drop-older-secret` leaves the newest\n/,
    'SRC-2',
  );
});

t.test('SUB-4 · CLI-2 · a test that did not succeed names the list that has the reason', async (t) => {
  const test = async (status: number, flags: Readonly<Record<string, string | true>> = {}) => {
    const { context, seen } = stageCommand({ args: ['r'], flags, answer: { status, body: '{}' } });
    const code = await testWebhook(context);
    return [code, seen.complained];
  };
  t.same(await test(502, { profile: 'work' }), [1, 'agent: `agent events --route r --profile work` has the reason\n']);
  t.same(await test(401, { 'checks-only': true }), [1, ''], 'which the history does not have');
  t.same(await test(202), [0, '']);
});
