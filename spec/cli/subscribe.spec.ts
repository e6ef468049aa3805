/** What `webhook subscribe` makes of its flags, and whether what it prints works when it is pasted. */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { editWebhook, subscribeWebhook } from '../../cli/commands/webhook.ts';
import { betweenValues } from '../../cli/context.ts';
import { stageCommand } from '../support/command-stage.ts';
import { askCli, main, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';
import { cliJson, webhookConfig } from '../support/webhook-home.ts';

const run = promisify(execFile);
const hasTools = ['curl', 'openssl'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

t.test('CLI-6 · SUB-1 · subscribe takes filters, a script, a batch and a secret', async (t) => {
  const answer = { name: 'ci', url: 'https://hooks.example/webhooks/ci', secret: 's', events: [] };
  const filters = ['action=opened', '{"field":"n",\n"in":[1,2]}', 'pr.draft=false', 'count=3', 'zip=007'];
  const flags = {
    filter: filters.join(betweenValues),
    script: 'a.sh',
    coalesce: 'pr.number',
    'coalesce-window': '5',
    'coalesce-batch': true,
    secret: 'given',
    signature: '{"header": "X-Sig"}',
    deliver: 'github_comment',
    'deliver-extra': ['repo={a.b}', 'pr_number={n}'].join(betweenValues),
  } as const;
  const { context, seen } = stageCommand({ args: ['ci'], flags, answer });
  t.equal(await subscribeWebhook(context), 0);
  t.match(seen.asked, [
    {
      record: {
        secret: 'given',
        signature: { header: 'X-Sig' },
        deliver: 'github_comment',
        deliver_extra: { repo: '{a.b}', pr_number: '{n}' },
        filters: [
          { field: 'action', equals: 'opened' },
          { field: 'n', in: [1, 2] },
          { field: 'pr.draft', equals: false },
          { field: 'count', equals: 3 },
          { field: 'zip', equals: '007' },
        ],
        script: 'a.sh',
        coalesce: { key: 'pr.number', window_seconds: 5, mode: 'batch' },
      },
    },
  ]);
  t.match(
    seen.printed,
    /URL {5}\S+\n\nPaste it at the sender\.\n\nTry it: agent webhook test ci\n$/,
    'the sender has the secret, and its own signature is not that of curl',
  );
  const { secret: __, ...unsecret } = flags;
  const made = stageCommand({ args: ['ci'], flags: unsecret, answer });
  t.equal(await subscribeWebhook(made.context), 0);
  t.match(made.seen.printed, /Secret {2}s\n\nThe secret is shown once\. Paste both at the sender\.\n/);
  const inUrl = stageCommand({ args: ['ci'], flags: unsecret, answer: { ...answer, url: `${answer.url}?token=s` } });
  t.equal(await subscribeWebhook(inUrl.context), 0);
  t.match(inUrl.seen.printed, /token=s\n\nThe address has the secret, and is shown once\. Paste it at the sender\.\n/);
  const provider = { title: 'Google Chat', page: 'https://p', secret: 'the number', typed: false, setup: 'Enter it.' };
  const entered = stageCommand({ args: ['ci'], flags: unsecret, answer: { ...answer, provider } });
  t.equal(await subscribeWebhook(entered.context), 0);
  t.match(entered.seen.printed, /\n\nAt Google Chat: https:\/\/p\n\nEnter it\.\n\nTry it: agent webhook test ci\n$/);
  const { signature: _, ...usual } = flags;
  const other = stageCommand({ args: ['ci'], flags: usual, answer });
  t.equal(await subscribeWebhook(other.context), 0);
  t.match(other.seen.printed, /GitHub {2}Settings > Webhooks > Add webhook: Payload URL, Secret/);
  t.notMatch(seen.printed, 'a tunnel', 'the address is a public one');
  for (const [misused, words] of [
    [{ filter: 'action==opened' }, /--filter must be field=value/],
    [{ filter: 'action' }, /--filter must be field=value/],
    [{ 'coalesce-window': '5' }, /need --coalesce/],
    [{ 'coalesce-batch': true }, /need --coalesce/],
    [{ signature: 'X-Sig' }, /--signature must be a JSON object/],
  ] as const) {
    const wrong = stageCommand({ args: ['ci'], flags: misused as Record<string, string | true>, answer });
    t.equal(await subscribeWebhook(wrong.context), 2);
    t.match(wrong.seen.complained, words);
    t.same(wrong.seen.asked, []);
  }
  const edited = stageCommand({ args: ['ci'], flags: { source: 'github' }, answer });
  t.equal(await editWebhook(edited.context), 0);
  t.match(edited.seen.asked, [{ record: { source: 'github', signature: null } }], 'a source has its own signature');
  const moved = stageCommand({ args: ['ci'], flags: { source: 'dropbox' }, answer });
  t.equal(await editWebhook(moved.context), 0);
  t.match(
    moved.seen.printed,
    /Changed ci\.\nThe secret is as before; Dropbox signs with the app secret\.\n$/,
    'which may be wrong',
  );
  t.notMatch(edited.seen.printed, /as before/, 'the owner types that of GitHub there');
  const stripe = { ...answer, definition: { sender: 'stripe' } };
  const freed = stageCommand({ args: ['ci'], flags: { unset: 'source', secret: 'generate' }, answer: stripe });
  t.equal(await editWebhook(freed.context), 0, 'a source that is removed makes no secret');
  for (const [given, words] of [
    [{ secret: 'generate' }, /the secret of ed25519 is the sender’s public key/],
    [{ 'keep-secret': true }, /--keep-secret keeps the earlier secret beside that of --secret/],
  ] as const) {
    const byKey = { ...answer, definition: { signature: { algorithm: 'ed25519' } } };
    const refused = stageCommand({ args: ['ci'], flags: given as Record<string, string | true>, answer: byKey });
    t.not(await editWebhook(refused.context), 0);
    t.match(refused.seen.complained, words);
  }
  const rotated = stageCommand({
    args: ['ci'],
    flags: { secret: 'generate', 'keep-secret': true },
    answer: { ...answer, definition: {} },
  });
  t.equal(await editWebhook(rotated.context), 0);
  t.match(rotated.seen.asked.at(-1), { older_secret: 'keep' });
  t.match(
    rotated.seen.printed,
    /The earlier secret verifies too; `agent webhook edit ci --drop-older-secret` ends that/,
  );
});

t.test('CLI-6 · the printed curl command is accepted, with any secret', { skip: !hasTools }, async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {prompt: p}\n') });
  const daemon = await startDaemon(t, home.path);
  const secret = `it's "a" $SECRET \`of\` \\ theirs`;
  const words = ['webhook', 'subscribe', 'ci', '--events', 'build', '--filter', 'test=true', '--secret', secret];
  const made = await askCli(words, home.path);
  t.equal(made.code, 0, made.stderr);
  t.match(made.stdout, /Only this machine reaches that URL\. .*platforms\.webhook\.extra\.public_url/);
  t.match(made.stdout, 'Try it: agent webhook test ci --event build, or\n');
  const command = made.stdout.slice(made.stdout.indexOf('  SECRET='));
  const { stdout } = await run('sh', ['-c', command]);
  t.match(JSON.parse(stdout), { status: 'accepted', event: 'build' });
  await daemon.line(({ message }) => message === 'run delivered');
  const read = spawnSync(process.execPath, [main, 'webhook', 'subscribe', 'cd', '--secret', '-', '--json'], {
    env: { ...process.env, AGENT_HOME: home.path },
    input: 'from the input\n',
  });
  t.match(JSON.parse(String(read.stdout)), { name: 'cd', secret: 'from the input' });
  const empty = spawnSync(process.execPath, [main, 'webhook', 'subscribe', 'none', '--secret', '-'], {
    env: { ...process.env, AGENT_HOME: home.path },
    input: '',
    encoding: 'utf8',
  });
  t.match(empty, { status: 2, stderr: /a secret given as "-" must be a line of the standard input/ });
});

t.test('SUB-1 · SRC-2 · the address that is pasted is the public one, everywhere it is shown', async (t) => {
  const publicUrl = 'https://hooks.example.com/agent';
  const config = webhookConfig(`        gh: {prompt: p}\n      public_url: ${publicUrl}/\n`);
  const home = makeHome(t, { 'config.yaml': config });
  const daemon = await startDaemon(t, home.path);
  const subscribe = async (...words: string[]) => {
    const { code, stdout, stderr } = await askCli(['webhook', 'subscribe', ...words], home.path);
    t.equal(code, 0, stderr);
    return stdout;
  };
  const plain = await subscribe('ci');
  t.match(plain, `  URL     ${publicUrl}/webhooks/ci\n`);
  t.notMatch(plain, 'needs an address that leads here');
  t.match(plain, `curl -sS '${daemon.url}/webhooks/ci' `, 'what is tried here goes to the listener');
  const sale = await subscribe('mg', '--source', 'square', '--secret', 'q8Zr4Lk2Wm7Tn1-Vx5Bd9');
  t.match(sale, `  URL     ${publicUrl}/webhooks/mg\n`);
  const grid = await subscribe('grid', '--source', 'azure-event-grid');
  const [, key = ''] = / {2}Secret {2}([0-9a-f]{64})\n/.exec(grid) ?? [];
  t.match(grid, `  URL     ${publicUrl}/webhooks/grid?code=${key}\n`);

  const listed = await askCli(['webhook', 'list'], home.path);
  t.match(listed.stdout, `${publicUrl}/webhooks/mg`);
  const shown = await askCli(['webhook', 'show', 'grid'], home.path);
  t.match(shown.stdout, new RegExp(`URL +${publicUrl}/webhooks/grid\\n`));
  t.notMatch(`${listed.stdout}${shown.stdout}${JSON.stringify(daemon.log)}`, key);
  for (const name of ['ci', 'mg', 'grid']) {
    t.match(await askCli(['webhook', 'test', name], home.path), { code: 0, stdout: /^HTTP 202/ }, name);
  }
});

t.test(
  'SUB-4 · SRC-5 · CLI-6 · subscribe --source --wait says what to paste, explains refusals and ends with the first event',
  async (t) => {
    const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {prompt: p}\n') });
    const daemon = await startDaemon(t, home.path);
    const words = ['webhook', 'subscribe', 'pay', '--source', 'stripe', '--events', 'invoice.paid'];
    const lacking = await askCli(words, home.path);
    t.equal(lacking.code, 1);
    t.match(lacking.stderr, /Stripe makes the secret: .*whsec_.*\/webhooks\/pay .*--secret -.*\[secret-needed\]/);

    const waiting = askCli([...words, '--secret', 'whsec_ofTheEndpoint', '--wait'], home.path);
    const listed = async (): Promise<boolean> =>
      ((await cliJson(home.path, 'webhook', 'list')) as readonly { name: string }[]).some(({ name }) => name === 'pay');
    await until(listed);
    const refused = await fetch(`${daemon.url}/webhooks/pay`, { method: 'POST', body: '{}' });
    t.equal(refused.status, 401);
    t.equal((await fetch(`${daemon.url}/webhook/pay`, { method: 'POST', body: '{}' })).status, 404);
    t.equal(
      (await askCli(['webhook', 'test', 'pay', '--sample', 'stripe:checkout.session.completed'], home.path)).code,
      0,
    );
    t.equal((await askCli(['webhook', 'test', 'pay', '--sample', 'stripe:invoice.paid'], home.path)).code, 0);
    const { code, stdout, stderr } = await waiting;
    t.equal(code, 0, stderr);
    t.match(stdout, /URL {5}http.*\/webhooks\/pay\n {2}Events {2}invoice\.paid\n/);
    t.match(stdout, /Paste them at Stripe: https:\/\/docs\.stripe\.com/);
    t.match(stdout, /Try it: agent webhook test pay --sample stripe:invoice\.paid\n/);
    t.match(stdout, /refused: .*\n→ .*stripe-signature/i);
    t.match(stdout, /refused at \/webhook\/pay: the path is not \/webhooks\/<route>/);
    const rows = (await cliJson(home.path, 'events', '--route', 'pay')) as { key: string; event: string }[];
    const key = rows.find(({ event }) => event === 'invoice.paid')?.key;
    t.match(stdout, `Came: invoice.paid. See it by: agent events show ${key}\n`, 'not by the id that the sender chose');
    t.notMatch(stdout + stderr, 'whsec_ofTheEndpoint', 'who gave the secret knows it');
  },
);

t.test(
  'SRC-3 · SUB-1 · SEC-6 · Notion is subscribed without a secret: --wait prints the token that it sends, which is the key then',
  async (t) => {
    const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {prompt: p}\n') });
    const daemon = await startDaemon(t, home.path);
    const words = ['webhook', 'subscribe', 'nn', '--source', 'notion', '--wait'];
    const waiting = spawn(process.execPath, [main, ...words], { env: { ...process.env, AGENT_HOME: home.path } });
    let printed = '';
    for (const stream of [waiting.stdout, waiting.stderr]) stream.on('data', (text) => (printed += String(text)));
    const ended = new Promise((resolve) => waiting.on('close', resolve));
    await until(() => printed.includes('Waiting for the first event'));
    const [, url = ''] = / {2}URL {5}(\S+)/.exec(printed) ?? [];
    t.match(url, `${daemon.url}/webhooks/nn?code=`);
    t.match(printed, /Notion then sends its token there, which becomes the secret/);
    const [bare = '', code = ''] = url.split('?code=');
    const post = async (to: string, body: object, headers: Record<string, string> = {}) =>
      (await fetch(to, { method: 'POST', body: JSON.stringify(body), headers })).status;
    const signedBy = (key: string, body: object) => ({
      'x-notion-signature': `sha256=${createHmac('sha256', key).update(JSON.stringify(body)).digest('hex')}`,
    });
    const event = { id: 'e1', type: 'page.created' };
    const another = 'secret_of-a-stranger-who-was-faster';
    const token = 'secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl';

    for (let times = 0; times < 20; times += 1) t.equal(await post(bare, { verification_token: another }), 401);
    t.equal(await post(`${bare}?code=${code.replace(/./g, '0')}`, { verification_token: another }), 401);
    t.equal(await post(url, event, signedBy(another, event)), 401);
    t.equal(await post(url, event, signedBy(code, event)), 401, 'the code signs nothing');
    t.match(await askCli(['webhook', 'test', 'nn', '--checks-only'], home.path), { stdout: /^HTTP 202/ });
    t.equal(await post(url, { verification_token: token }), 200);
    await until(() => printed.includes(token));
    t.match((await askCli(['events', 'show', 'latest', '--route', 'nn'], home.path)).stdout, token, 'as is printed');
    t.match(
      printed,
      /handshake: verification_token; it becomes the secret of the route: type it in at Notion\n {2}secret_tMrl/,
    );
    t.match(
      printed,
      /refused: handshake: verification_token without the code of the address\n→ Give Notion the complete/,
    );
    t.notMatch(printed, another);

    t.equal(await post(url, { verification_token: another }), 401, 'no other token takes its place');
    t.equal(await post(url, event, signedBy(another, event)), 401);
    t.equal(await post(url, { verification_token: token }), 200, 'Notion may send it again');
    t.equal(await post(url, event, signedBy(token, event)), 202);
    t.equal(await ended, 0);
    t.match(printed, /Came: page\.created/);

    t.same(await cliJson(home.path, 'events', '--search', token.slice(0, 12)), [], 'nor is it found letter by letter');
    const rows = (await cliJson(home.path, 'webhook', 'deliveries')) as object;
    const shown = await askCli(['webhook', 'show', 'nn'], home.path);
    t.notMatch(JSON.stringify([rows, shown, daemon.log]), new RegExp(`${token}|${code}`));
    const kept = readFileSync(join(home.path, 'webhook_subscriptions.json'), 'utf8');
    t.match(JSON.parse(kept), { nn: { secret: token, verify_token: undefined } });

    const hooked = await askCli(['webhook', 'subscribe', 'asana', '--source', 'asana'], home.path);
    t.match(hooked.stdout, /Asana then sends its secret there, which becomes the secret of the route\.\n\nTry it/);
    const [, target = ''] = / {2}URL {5}(\S+)/.exec(hooked.stdout) ?? [];
    const key = 'b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81';
    const greeted = await fetch(target, { method: 'POST', body: '{}', headers: { 'x-hook-secret': key } });
    t.same([greeted.status, greeted.headers.get('x-hook-secret')], [200, key], 'the answer repeats it');
    const changed = { events: [{ action: 'added', resource: { resource_type: 'task' } }] };
    const digest = createHmac('sha256', key).update(JSON.stringify(changed)).digest('hex');
    t.equal(await post(target, changed, { 'x-hook-signature': digest }), 200, 'by which its events are signed');
  },
);

t.test('SUB-1 · PRF-2 · the commands that are printed for a route of a profile name the profile', async (t) => {
  const home = makeHome(t, {
    'config.yaml': 'gateway: {multiplex_profiles: true}\n',
    'profiles/work/config.yaml': '{}\n',
  });
  const { code, stdout, stderr } = await askCli(
    ['webhook', 'subscribe', 'nn', '--source', 'notion', '--profile', 'work'],
    home.path,
  );
  t.equal(code, 0, stderr);
  t.match(stdout, /`agent events show latest --route nn --profile work`\n/);
  t.match(stdout, /Try it: agent webhook test nn --profile work --sample notion:/);
});

t.test(
  'CLI-6 · SUB-1 · a secret that is to come from a terminal is asked for there, and not shown',
  hasTerminal ? {} : { skip: 'this machine has no script that runs a command' },
  async (t) => {
    const home = makeHome(t);
    const terminal = startTerminal(t, ['webhook', 'subscribe', 'ci', '--secret', '-'], { AGENT_HOME: home.path });
    await terminal.shows(/Type the secret, then Enter;/);
    terminal.type('typed-by-the-person\r');
    t.equal(await terminal.exited, 0);
    t.notMatch(terminal.shown().split('URL')[0] ?? '', 'typed-by-the-person');
    t.match(readFileSync(join(home.path, 'webhook_subscriptions.json'), 'utf8'), '"secret": "typed-by-the-person"');
  },
);

t.test('SRC-1 · SUB-1 · subscribe and list warn of a secret that its provider does not make', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {prompt: p}\n') });
  const words = ['webhook', 'subscribe', 'bot', '--source', 'slack', '--secret'];
  const made = await askCli([...words, 'xoxb-9421673058-b7Qm2Zt8'], home.path);
  t.equal(made.code, 0, made.stderr);
  t.match(
    made.stderr,
    /bot has what looks like an API key as its secret; Slack signs with the signing secret of the app/,
  );
  t.match((await askCli(['webhook', 'list'], home.path)).stdout, /has what looks like an API key/);
  t.notMatch(made.stderr + made.stdout, 'xoxb-', 'the secret itself is not shown');
  const right = await askCli([...words, '8f742231b10e8a49abcd9912346785a5', '--force'], home.path);
  t.equal(right.stderr, '');
});

t.test(
  'SUB-1 · SUB-4 · subscribe, list and show say that webhooks are not enabled, and how to enable them',
  async (t) => {
    const home = makeHome(t);
    const cli = (...words: string[]) => askCli(['--home', home.path, 'webhook', ...words], home.path);
    const off = `is not served: webhooks are not enabled; \`agent --home ${home.path} gateway setup --enable\` enables them`;
    t.match((await cli('subscribe', 'ci')).stderr, `agent: ci ${off}`);
    for (const words of [['list'], ['show', 'ci']]) t.match((await cli(...words)).stdout, off, words.join(' '));
    await askCli(['gateway', 'setup', '--enable', '--host', '127.0.0.1'], home.path);
    t.equal((await cli('subscribe', 'more')).stderr, '');
    for (const words of [['list'], ['show', 'ci']])
      t.notMatch((await cli(...words)).stdout, 'not enabled', words.join(' '));
  },
);

t.test('SUB-1 · CLI-6 · a subscription gets another secret, and what is not named stays', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        fixed: {}\n') });
  const daemon = await startDaemon(t, home.path);
  const agent = (...words: string[]) => askCli(['webhook', ...words], home.path);
  const record = () => JSON.parse(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8')).mine;
  const words = ['--events', 'push', '--filter', 'n=1', '--deliver', 'telegram', '--deliver-chat-id', '42'];
  await agent('subscribe', 'mine', ...words);
  const before = record();
  const edited = await agent('edit', 'mine', '--secret', 'generate');
  t.equal(edited.code, 0);
  t.match(edited.stderr, /^agent: mine delivers to "telegram", which is not enabled/);
  const [, secret = ''] = /^Changed mine\.\n {2}Secret {2}([0-9a-f]{64})\nIt is shown once\./.exec(edited.stdout) ?? [];
  t.strictSame(record(), { ...before, secret });
  t.not(secret, before.secret);
  const post = async (key: string) =>
    (await postSigned(`${daemon.url}/webhooks/mine`, { event_type: 'push', n: 2 }, { secret: key })).status;
  t.equal(await post(before.secret), 401);
  t.equal(await post(secret), 200, 'filtered as before');

  t.equal((await agent('edit', 'mine', '--deliver', 'log', '--unset', 'filters', '--prompt', 'New')).code, 0);
  const { filters: _, deliver_extra: __, ...rest } = before;
  t.strictSame(record(), { ...rest, secret, deliver: 'log', prompt: 'New' });
  await agent('subscribe', 'pay', '--source', 'stripe', '--secret', `whsec_${before.secret}`);
  await agent('subscribe', 'grid', '--source', 'azure-event-grid');
  t.match((await agent('edit', 'grid', '--secret', 'generate')).stdout, /[0-9a-f]{64}\n {10}the text that you put/);
  await agent('edit', 'mine', '--on-failure', 'log', '--on-failure-chat-id', '7');
  await agent('edit', 'mine', '--unset', 'on_failure');
  t.notHas(record(), { on_failure_extra: {} }, 'without its target');
  const refused: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['pay', '--secret', 'generate'], 1, /Stripe makes the secret: .*whsec_.*--secret -/],
    [['mine'], 2, /name what is to change/],
    [['mine', '--unset', 'filter'], 2, /--unset "filter" is none of source, signature, verify_token, events,/],
    [['mine', '--prompt', 'p', '--unset', 'prompt'], 2, /--unset prompt contradicts a flag that sets it/],
    [['mine', '--deliver', 'fax'], 1, /no target/],
    [['fixed', '--prompt', 'p'], 1, /is a route of config\.yaml, which is edited there/],
    [['none', '--prompt', 'p'], 1, /none/],
  ];
  const standing = record();
  for (const [wrong, code, said] of refused) {
    const result = await agent('edit', ...wrong);
    t.equal(result.code, code, wrong.join(' '));
    t.match(result.stderr, said);
  }
  t.strictSame(record(), standing);
  const meta = ['--source', 'meta', '--secret', 'a'.repeat(32), '--verify-token', 'typed-at-meta'];
  t.equal((await agent('edit', 'mine', ...meta)).code, 0);
  t.match(record(), { source: 'meta', verify_token: 'typed-at-meta' });
});
