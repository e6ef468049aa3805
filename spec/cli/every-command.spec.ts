/** Every command as a process of its own: it loads, asks, prints and ends. What each says in full is asked in one process elsewhere. */

import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { runCli } from '../support/daemon.ts';
import { child, startGateway } from '../support/mcp/gateway.ts';

/** Started, stopped and answered in specs of their own, most of them in a terminal. */
const elsewhere = [
  'gateway',
  'gateway start',
  'gateway run',
  'gateway stop',
  'gateway restart',
  'gateway logs',
  'config edit',
  'gateway setup',
  'mcp login',
  'mcp reauth',
  'mcp serve',
  'mcp import',
  'link open',
  'link register',
  'chat',
  'inspect follow',
];

const rows: readonly (readonly [words: readonly string[], code: number, said: RegExp])[] = [
  [['gateway', 'status'], 0, /^pid .*, up \d+[sm]$.*^webhook +http/ms],
  [['gateway', 'nodes'], 0, /\(this one\) +leader +running/],
  [['gateway', 'reload'], 0, /./],
  [['gateway', 'migrate'], 1, /\[journal-local\]/],
  [['journal', 'copy', '--to', 'postgres'], 1, /\[journal-local\]/],
  [['gateway', 'service'], 0, /\[Service\]/],
  [['webhook', 'subscribe', 'mine', '--prompt', 'p'], 0, /URL +http/],
  [['webhook', 'edit', 'mine', '--description', 'd'], 0, /^Changed mine/],
  [['webhook', 'list'], 0, /ping[\s\S]*mine/],
  [['webhook', 'show', 'mine'], 0, /mine/],
  [['webhook', 'disable', 'mine'], 0, /mine/],
  [['webhook', 'enable', 'mine'], 0, /mine/],
  [['webhook', 'hold', 'mine'], 0, /^Held mine: .*`agent webhook release mine`/],
  [['webhook', 'release', 'mine'], 0, /^Released mine\.$/m],
  [['webhook', 'test', 'mine'], 0, /HTTP 202/],
  [['events'], 0, /mine/],
  [['events', 'list'], 0, /mine/],
  [['webhook', 'deliveries'], 0, /mine/],
  [['webhook', 'doctor', 'mine'], 0, /^No refused request of mine is kept/],
  [['events', 'show', 'latest'], 0, /mine/],
  [['events', 'replay', 'nothing'], 1, /\[delivery-unknown\]/],
  [['webhook', 'replay', 'nothing'], 1, /\[delivery-unknown\]/],
  [['webhook', 'remove', 'mine'], 0, /mine/],
  [['mcp', 'list'], 0, /peer +connected/],
  [['mcp', 'show', 'peer'], 0, /^peer {2}connected\n.*Tools +\d.*Risks +trust: .*"command":/s],
  [['mcp', 'tools'], 0, /mcp__peer__echo/],
  [['mcp', 'call', 'mcp__peer__echo', '{"text":"plain"}'], 0, /^plain$/m],
  [['mcp', 'test', 'peer'], 0, /echo/],
  [['mcp', 'logs', 'peer'], 0, /^$/],
  [['mcp', 'reload', 'peer'], 0, /peer/],
  [['mcp', 'logout', 'peer'], 0, /^There was no login to peer\.$/m],
  [['mcp', 'add', 'other', '--no-test', '--', 'true'], 0, /other/],
  [['mcp', 'edit', 'other', '--lazy'], 0, /^Changed other/],
  [['mcp', 'edit', 'other', '--unset', 'headers.X-None'], 0, /^Nothing changed: the entry of other/],
  [['mcp', 'edit', 'other', '--unset', 'timeot'], 1, /unknown key "timeot"; did you mean "timeout"\? \[unknown-key\]/],
  [['mcp', 'disable', 'other'], 0, /other/],
  [['mcp', 'enable', 'other'], 0, /other/],
  [['mcp', 'remove', 'other'], 0, /other/],
  [['audit'], 0, /owner \(terminal\) +removed a server +server=other/],
  [['audit', '--limit', '1'], 0, /agent: The newest 1 row\. --limit 2 shows more\./],
  [['audit', '--search', 'of nothing'], 0, /^No rows\.$/m],
  [['approvals'], 0, /Nothing waits/],
  [['approvals', 'list'], 0, /Nothing waits/],
  [['approvals', 'show', 'a999'], 1, /a999/],
  [['approvals', 'approve', 'a999'], 1, /a999/],
  [['approvals', 'deny', 'a999'], 1, /a999/],
  [['approvals', 'answered'], 0, /Nothing was answered/],
  [['cron', 'add', 'digest', '@daily', '--prompt', 'p'], 0, /digest/],
  [['cron', 'list'], 0, /digest/],
  [['cron', 'show', 'digest'], 0, /digest/],
  [['cron', 'edit', 'digest', '@hourly'], 0, /^Changed/],
  [['cron', 'pause', 'digest'], 0, /^Paused/],
  [['cron', 'resume', 'digest'], 0, /digest/],
  [['cron', 'run', 'digest'], 0, /^Fired/],
  [['cron', 'remove', 'digest'], 0, /digest/],
  [['runs'], 0, /cron\/digest/],
  [['runs', 'list'], 0, /cron\/digest/],
  [['runs', 'show', 'nothing'], 1, /\[run-unknown\]/],
  [['runs', 'cancel', 'nothing'], 1, /\[run-unknown\]/],
  [['events', 'replay'], 2, /name one event, or give --all and --status/],
  [['events', 'replay', '--all'], 2, /--all needs --status, which is one of failed, interrupted, cancelled, ignored/],
  [
    ['events', 'replay', '--all', '--status', 'failed', '--dry'],
    2,
    /--dry is for one event; beside --all leave it out/,
  ],
  [['events', 'replay', 'x', '--since', '2h'], 2, /--since is for --all; without --all leave it out/],
  [['runs', 'cancel'], 2, /name one run, or give --all/],
  [['runs', 'cancel', 'nothing', '--route', 'r'], 2, /--route is for --all; beside an id leave it out/],
  [['runs', 'cancel', '--all', '--route', 'nothing'], 0, /no route is named "nothing"/],
  [['deliveries'], 0, /log/],
  [['deliveries', 'list'], 0, /log/],
  [['deliveries', 'show', 'nothing'], 1, /\[delivery-unknown\]/],
  [['deliveries', 'retry', 'nothing'], 1, /\[delivery-unknown\]/],
  [['deliveries', 'drop', 'nothing'], 1, /\[delivery-unknown\]/],
  [['deliveries', 'drop', '--all', '--status', 'queued'], 0, /^Dropped 0 deliveries\./],
  [['deliveries', 'retry', '--all'], 0, /^Trying 0 dead letters again\. `--status waitingToRetry` tries/],
  [['deliveries', 'drop', 'x', '--status', 'queued'], 2, /--status is for --all; beside an id leave it out/],
  [['deliveries', 'targets'], 0, /log/],
  [['config', 'check'], 0, /./],
  [['config', 'show'], 0, /agent\.runner/],
  [['config', 'schema'], 0, /"platforms"/],
  [['inspect'], 0, /^supervisor/],
  [['inspect', '--read-only'], 2, /--read-only is for the page; give --web too/],
  [['inspect', '--as', 'maya'], 2, /--as is for the page; give --web too/],
  [['inspect', 'tree'], 0, /^supervisor/],
  [['inspect', 'show', 'gateway'], 0, /listening/],
  [['inspect', 'why', 'nothing'], 1, /\[delivery-unknown\]/],
  [['doctor', '--offline'], 0, /./],
  [['completion', 'bash'], 0, /complete/],
  [['complete', '--', 'mcp', 'lis'], 0, /list/],
  [['help'], 0, /Usage: agent/],
];

t.test('CLI-2 · each command is a process that answers and ends', async (t) => {
  const gateway = await startGateway(t, { peer: child(t).entry });
  await gateway.reaches('peer', 'connected');
  for (const [words, code, said] of rows) {
    const ended = await runCli(words, gateway.home.path);
    t.equal(ended.code, code, `${words.join(' ')}\n${ended.stderr}`);
    t.match(ended.stdout + ended.stderr, said, words.join(' '));
  }
  const started = rows.map(([words]) => words.join(' '));
  t.same(
    catalogue
      .map(({ path }) => path.join(' '))
      .filter((path) => !elsewhere.includes(path) && !started.some((words) => `${words} `.startsWith(`${path} `))),
    [],
    'commands that no spec starts',
  );
});
