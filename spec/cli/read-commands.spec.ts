import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';
import { secret, webhookConfig } from '../support/webhook-home.ts';

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

t.test('CFG-2 · HOME-2 · a home without config.yaml, and a line of .env that sets nothing, are said', async (t) => {
  const home = makeHome(t, { '.env': 'A=1\nexport B="two\nlines"\n# note\nC-is-set\n' });
  const { stdout } = await askCli(['config', 'check'], home.path);
  t.match(stdout, /^\.env:5:1: warning: this line sets no variable.*\[env-line\]/);
  t.notMatch(stdout, 'C-is-set');
  const none = await askCli(['config', 'check'], `${home.path}/none`);
  t.match(none, { code: 0, stdout: /^There is no .*config\.yaml, so the defaults apply/ });
  const named = await askCli(['--home', `${home.path}/none`, 'config', 'check'], home.path);
  t.match(named.stdout, `\`agent --home ${home.path}/none gateway setup\` writes one`);
});

t.test('CLI-6 · PRF-1 · config show shows the settings of a profile that exists, and of no other', async (t) => {
  const home = makeHome(t, { 'profiles/work/config.yaml': 'agent: {concurrency: 2}\n' });
  const show = (profile: string) => askCli(['config', 'show', 'agent', '--profile', profile], home.path);
  t.match(await show('work'), { code: 0, stdout: /agent\.concurrency +2 +profiles\/work\/config\.yaml:1/ });
  t.match(await show('wrok'), { code: 1, stdout: /^$/, stderr: /profile "wrok" is not served; .*\[profile-unknown\]/ });
});

t.test('CLI-6 · INT-2 · places are shown as set by the gateway, not as variables', async (t) => {
  const home = makeHome(t, {
    'config.yaml': 'agent: {runner: command, command: ["${userHome}${/}agent", "${AGENT_RUN_ID}", "${UNSET_X}"]}\n',
  });
  const { stdout } = await askCli(['config', 'show', 'agent.command'], home.path);
  t.match(stdout, /UNSET_X is not set/);
  t.notMatch(stdout, /(?:userHome|\/|RUN_ID) is not set/);
});

t.test(
  'CLI-2 · CLI-6 · CON-4 · every read command gives data with --json, of the law’s shape, and text without',
  async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig('        gh: {events: [push], prompt: "P {n}", description: mine}\n', {
        more: 'mcp_servers: {bad: {command: x, url: "http://127.0.0.1:1"}}',
      }),
    });
    const daemon = await startDaemon(t, home.path);
    const answer = await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'd1' });
    t.equal(answer.status, 202);
    await daemon.line(({ message }) => message === 'run delivered');
    await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'd2', event: 'issues' });

    const route = {
      name: 'gh',
      url: `${daemon.url}/webhooks/gh`,
      events: ['push'],
      deliver: 'log',
      description: 'mine',
    };
    const ignored = {
      delivery_id: 'd2',
      route: 'gh',
      profile: 'default',
      event: 'issues',
      status: 'ignored',
      reason: 'event issues is not among push',
      received_at: iso,
      attempts: 0,
    };
    const { reason: _, ...base } = ignored;
    const delivered = { ...base, delivery_id: 'd1', event: 'push', status: 'delivered', attempts: 1 };
    const rows: readonly (readonly [words: string, shape: unknown, code?: number])[] = [
      [
        'gateway status',
        {
          pid: daemon.child.pid,
          version: /^\d+\.\d+\.\d+/,
          uptime_seconds: Number,
          home: home.path,
          webhook: { enabled: true, url: daemon.url },
          servers: { failed: 1 },
          actors: { supervisor: 1, gateway: 1, journal: 1 },
        },
      ],
      ['webhook list', [{ ...route, problem: undefined }]],
      ['webhook show gh', { ...route, definition: { prompt: 'P {n}' } }],
      ['webhook deliveries', [ignored, delivered]],
      ['events', [ignored, delivered]],
      ['events show d1', { ...delivered, record: { body: '{"n":1}' }, run: { status: 'delivered' }, delivery: {} }],
      [
        'config show platforms',
        {
          file: 'config.yaml',
          settings: [{ key: 'platforms.github_comment.enabled', value: true, from: 'file', line: Number }],
        },
      ],
      [
        'webhook deliveries d1',
        { ...delivered, record: { body: '{"n":1}' }, run: { status: 'delivered' }, delivery: {} },
      ],
      [
        'config check',
        [{ file: 'config.yaml', line: 1, column: Number, code: 'server-two-transports', message: /"bad" has both/ }],
        1,
      ],
      ['config schema', { type: 'object', properties: { platforms: {} } }],
      ['runs list', [{ id: String, delivery_id: 'd1', route: 'gh', status: 'delivered', attempt: 1, queued_at: iso }]],
      [
        'inspect tree',
        { id: 'supervisor', machine: 'supervisor', state: 'up.running', since: iso, children: [{ id: 'journal' }] },
      ],
      [
        'inspect show gateway',
        { id: 'gateway', machine: 'gateway', state: 'listening', since: iso, context: { url: daemon.url } },
      ],
    ];
    for (const [words, shape, code = 0] of rows) {
      const asked = words.split(' ');
      const json = await askCli([...asked, '--json'], home.path);
      t.equal(json.code, code, words);
      t.match(JSON.parse(json.stdout), shape, words);
      if (words === 'config schema') continue;
      const text = await askCli(asked, home.path);
      t.equal(text.code, code, words);
      if (Array.isArray(shape)) t.throws(() => JSON.parse(text.stdout), `${words}: a table for people`);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for.
      t.notMatch(text.stdout, /\u001b/, `${words}: no colours`);
    }
    const [run] = JSON.parse((await askCli(['runs', 'list', '--json'], home.path)).stdout) as { id: string }[];
    const shown = JSON.parse((await askCli(['runs', 'show', run?.id ?? '', '--json'], home.path)).stdout) as object;
    t.match(shown, { id: run?.id, prompt: 'P 1', response: 'P 1', delivery: { status: 'delivered' } });
    for (const list of ['runs', 'deliveries']) {
      const ofProfile = async (profile: string): Promise<unknown[]> =>
        JSON.parse((await askCli([list, 'list', '--profile', profile, '--json'], home.path)).stdout);
      t.equal((await ofProfile('default')).length, 1, `${list} of the profile`);
      t.same(await ofProfile('other'), [], `${list} of another`);
    }

    const ask = async (...words: readonly string[]): Promise<object> =>
      JSON.parse((await askCli([...words, '--json'], home.path)).stdout);
    const start = (run?.id ?? '').slice(0, -1);
    for (const short of [start, 'latest']) {
      t.match(await ask('runs', 'show', short), { id: run?.id }, `runs show ${short}`);
      t.match(await ask('deliveries', 'show', short), { delivery_id: 'd1' }, `deliveries show ${short}`);
    }
    t.match(await ask('webhook', 'deliveries', start), { delivery_id: 'd1' });
    t.match(await ask('webhook', 'deliveries', 'latest'), { delivery_id: 'd2' });
    for (const list of [
      ['webhook', 'deliveries'],
      ['runs', 'list'],
      ['deliveries', 'list'],
    ]) {
      const length = async (since: string): Promise<unknown> =>
        Object.keys(await ask(...list, '--since', since)).length;
      t.equal(await length('1h'), list[0] === 'webhook' ? 2 : 1, `${list.join(' ')}: what came within an hour`);
      t.equal(await length('2999-01-01'), 0, `${list.join(' ')}: nothing came since`);
    }
    const common = start.slice(0, 4);
    const several = await askCli(['webhook', 'deliveries', common], home.path);
    t.equal(several.code, 2, 'a prefix of several is a matter of usage');
    t.match(several.stderr, new RegExp(`^agent: several ids begin with "${common}":\n.*"d1".*\n.*"d2"`));
    t.match(several.stderr, '[id-ambiguous]');
    const over = await askCli(['runs', 'cancel', 'latest'], home.path);
    t.equal(over.code, 1);
    t.match(over.stderr, `run "${run?.id}" is delivered`, 'what is acted on is named in full');
  },
);

t.test('CLI-5 · RTE-1 · `webhook show` describes a route in words, and leaves out what it does not set', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig(`        full:
          events: [push, issues]
          description: of GitHub
          prompt: "P {n}"
          filters: [{field: action, in: [opened]}, {field: n, equals: 1}]
          script: a.sh
          script_timeout_seconds: 3
          skills: [review]
          toolsets: []
          deliver_extra: {chat_id: "12", thread: 7}
          on_failure: log
          coalesce: {key: "{n}", window_seconds: 5, max_wait_seconds: 60, mode: batch}
          concurrency: 1
        plain: {enabled: false}
        made: {signature: {header: X-Sig, algorithm: token}, body: each, delivery_id: {field: a.b}, allow_identical_bodies: true}
        named: {source: linear}
        text: {deliver_only: true, deliver: github_comment, deliver_extra: {repo: a/b, pr_number: 1}, prompt: done}
`),
    'scripts/a.sh': 'true',
    'skills/review/SKILL.md': 'Review it.',
  });
  const shown = async (name: string): Promise<string> => {
    const { code, stdout, stderr } = await askCli(['webhook', 'show', name], home.path);
    t.equal(code, 0, stderr);
    return stdout;
  };
  const url = 'http://127.0.0.1:0/webhooks';
  t.equal(
    await shown('full'),
    `full  enabled
  URL         ${url}/full
  About       of GitHub
  From        config.yaml
  Events      push, issues
  Filters     {"field":"action","in":["opened"]}
              {"field":"n","equals":1}
  Script      a.sh, for at most 3 s
  Batch       one with all texts for events alike in {n}, once none has come for 5 s or after 60 s
  Leads to    an agent run
  At once     1 run
  Skills      review
  Toolsets    none
  Delivers    log, chat_id 12, thread 7
  On failure  log

Prompt
  P {n}
`,
  );
  t.equal(
    await shown('plain'),
    `plain  disabled
  URL       ${url}/plain
  From      config.yaml
  Events    all
  Leads to  an agent run
  Delivers  log

Prompt
The complete payload.
`,
  );
  t.match(
    await shown('text'),
    /Leads to {2}a delivery, without a run\n {2}Delivers {2}github_comment, repo a\/b, pr_number 1\n\nText\n {2}done\n/,
  );
  t.match(
    await shown('made'),
    /Signed +by header X-Sig, token\n +Body +each\n +Delivery id +field a\.b\n +Same bodies +each runs\n/,
  );
  t.match(await shown('named'), /Source +Linear\n/);
  await askCli(['webhook', 'subscribe', 'sub', '--events', 'build'], home.path);
  t.match(await shown('sub'), /From {6}webhook_subscriptions\.json, since \d{4}-\d\d-\d\d .* UTC, /);

  const several = makeHome(t, {
    'config.yaml': 'gateway: {multiplex_profiles: true}\nplatforms: {webhook: {enabled: true}}\n',
    'profiles/work/config.yaml': webhookConfig('        own: {prompt: p}\n'),
  });
  const { stdout } = await askCli(['webhook', 'show', 'own'], several.path);
  t.match(stdout, /From {6}profiles\/work\/config\.yaml\n/);
});

t.test('CLI-2 · every command that reads takes --json', (t) => {
  const reads = /^(list|show|status|tools|deliveries|check|tree|test|schema)$/;
  const without = catalogue
    .filter(({ path, flags }) => reads.test(path.at(-1) ?? '') && !flags.some(({ name }) => name === 'json'))
    .map(({ path }) => path.join(' '));
  t.same(without, []);
  t.end();
});

t.test('CFG-2 · DIS-5 · config check ends with a hint on how to lend a route tools, which fails nothing', async (t) => {
  const config = (route: string) =>
    `agent: {runner: command, command: [cat]}\nmcp_servers: {files: {command: cat}}\nplatforms: {webhook: {enabled: true, host: 127.0.0.1, secret: k3Yq9-vT7mZ1pX4w, routes: {hook: ${route}}}}\n`;
  const home = makeHome(t, { 'config.yaml': config('{prompt: x}') });
  const check = (...flags: readonly string[]) => askCli(['config', 'check', ...flags], home.path);
  const hint =
    'Hint: route "hook" runs without the tools of your servers; add toolsets: [agent-webhook, mcp-files] to lend them\n';

  const hinted = await check();
  t.same([hinted.code, hinted.stdout], [0, `No findings.\n${hint}`]);
  t.same(JSON.parse((await check('--json')).stdout), []);
  home.write('config.yaml', config('{prompt: x, toolsets: [agent-webhook, mcp-files]}'));
  t.equal((await check()).stdout, 'No findings.\n');
  home.write('config.yaml', config('{prompt: "{open", toolsets: [agent-webhook, mcp-files]}'));
  const warned = await check();
  t.equal(warned.code, 1, 'a warning alone fails the check');
  t.match(warned.stdout, /: warning: route "hook" has prompt with "\{open".* \[template-open\]\n[\s\S]*\n1 finding\n$/);
  t.equal((await check('--json')).code, 1);
});

t.test('CFG-7 · CFG-2 · config check shows in one wave what is wrong and what is hardly meant', async (t) => {
  const home = makeHome(t, {
    'config.yaml': [
      'gatway: {}',
      'inspector: {scrape_token: "${UNSET_TOKEN}"}',
      'mcp_servers:',
      '  files: {command: cat, trust: some, lazzy: true}',
      '  hub: {url: "https://hub.example/mcp", timeout: -1, headers: {X-Api-Key: "${UNSET_KEY}"}}',
      'platforms:',
      '  slack: {enabled: true, api_base: 5}',
      '  github_comment: {command: /nowhere/gh}',
      '  webhook:',
      '    host: 127.0.0.1',
      '    secret: k3Yq9-vT7mZ1pX4w',
      '    routes:',
      '      Loud: {deliver: telegram, prompt: "{open", delivr: log}',
      '      quiet:',
      '        deliver: github_comment',
      '        deliver_extra: {repo: a/b, pr_number: "{number", labels: {first: "{label"}}',
      '        filters: [{field: a, regex: "("}, {field: b, in_file: gone.txt}]',
      '',
    ].join('\n'),
  });
  const { code, stdout } = await askCli(['config', 'check', '--json'], home.path);
  const found = JSON.parse(stdout) as readonly { readonly line: number; readonly code: string }[];
  t.same(
    [code, ...found.map((one) => `${one.line} ${one.code}`)],
    [
      1,
      '1 unknown-key',
      '2 secret-unresolved',
      '4 trust-unknown',
      '4 unknown-key',
      '5 wrong-value',
      '5 variable-unset',
      '7 credential-missing',
      '7 wrong-type',
      '13 route-name',
      '13 target-disabled',
      '13 template-open',
      '13 unknown-key',
      '15 target-program-missing',
      '16 template-open',
      '16 deliver-extra-unknown',
      '16 template-open',
      '17 filter-regex',
      '17 list-missing',
    ],
  );

  home.write('config.yaml', 'mcp_servers:\n  hub: {url: x, oauth: {client_secret: ${NAME}}}\n  b: [\n');
  const broken = await askCli(['config', 'check'], home.path);
  t.match(broken.stdout, /^config\.yaml:2:\d+: not YAML: .*put a value that holds \$\{…\} in quotes \[yaml-syntax\]\n/);
  t.match(broken.stdout, 'client_secret: ${NAME}', 'a reference is no secret');
  t.match(broken.stdout, /\n1 finding\n$/, 'the errors that follow from it are left out');
  t.equal(broken.code, 1);
  for (const words of [
    ['mcp', 'test', 'hub'],
    ['webhook', 'show', 'hub'],
  ]) {
    const { stderr } = await askCli(words, home.path);
    t.match(stderr, /"hub"; config\.yaml cannot be read: `agent config check` shows why /, 'hub may be in it');
  }
});
