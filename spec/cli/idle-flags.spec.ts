import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { parseWords } from '../../cli/parse.ts';
import { runWords } from '../../cli/run.ts';
import { makeHome } from '../support/home.ts';

t.test('CLI-2 · a flag that would have no effect beside the others is refused with the cure', async (t) => {
  const rows: readonly (readonly [words: string, why: RegExp])[] = [
    ['inspect follow --full', /--full prints records for programs; give --json too/],
    ['inspect --as maya', /--as is for the page; give --web too/],
    ['mcp reload --profile work', /--profile is for one server; name it, or leave --profile out/],
    ['mcp logs hub --limit 5 --lines 7', /--limit and --lines are the same; give one of them/],
    ['deliveries retry d1 --target slack', /--target is for --all; beside an id leave it out/],
    ['deliveries drop d1 --route ci', /--route is for --all; beside an id leave it out/],
    ['webhook subscribe ci --deliver-chat-id 7', /--deliver-chat-id needs --deliver/],
    ['webhook subscribe ci --deliver-extra a=7', /--deliver-extra needs --deliver/],
    ['webhook subscribe ci --deliver slack --deliver-extra a', /--deliver-extra must be key=value/],
    ['webhook subscribe ci --deliver slack --on-failure-chat-id 7', /--on-failure-chat-id needs --on-failure/],
    ['cron add digest --deliver-chat-id 7', /--deliver-chat-id needs --deliver/],
    ['gateway setup --weak-secret', /--weak-secret needs --secret/],
    ['gateway setup --enable --weak-secret', /--weak-secret needs --secret/],
    ['approvals approve a1 --values {} --always', /--values fills a form and --always is for a call/],
    ['approvals approve a1 --values {} --for-run', /--values fills a form and --for-run is for a call/],
    ['approvals approve a1 --where repo=web', /--where limits a rule; give --always with it/],
    ['events --search x --status failed', /in a search write status:failed/],
  ];
  const home = makeHome(t).path;
  for (const [words, why] of rows) {
    let said = '';
    const out = { isTerminal: false, coloured: false, columns: 80, print: () => {} };
    const complain = (text: string): void => {
      said += text;
    };
    t.equal(await runWords(words.split(' '), { AGENT_HOME: home }, { ...out, complain }), 2, words);
    t.match(said, why, words);
  }
});

t.test('CLI-2 · SCA-3 · --node is refused by each command that works on this machine alone', (t) => {
  const local = catalogue.filter(({ staysHere }) => staysHere).map(({ path }) => path.join(' '));
  t.strictSame(local, [
    'gateway',
    'gateway start',
    'gateway run',
    'gateway restart',
    'gateway logs',
    'gateway setup',
    'gateway service',
    'mcp import',
    'link open',
    'link register',
    'config edit',
    'doctor',
    'completion',
    'help',
  ]);
  for (const words of local) {
    const parsed = parseWords([...words.split(' '), '--node', 'n2']);
    t.match(parsed, { kind: 'misused', message: /--node is for commands that ask a gateway; .* leave it out/ }, words);
  }
  t.match(parseWords(['--node', 'n2', 'gateway', 'status']), { kind: 'command', flags: { node: 'n2' } });
  t.end();
});
