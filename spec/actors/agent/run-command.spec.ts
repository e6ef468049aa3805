import t from 'tap';
import { createCommandRunner } from '../../../actors/agent/run-command.ts';
import type { AgentRunOutcome, AgentRunRequest } from '../../../actors/ports.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { makeHome } from '../../support/home.ts';
import { numbersIn, until } from '../../support/processes.ts';

const request: AgentRunRequest = {
  runId: 'r1',
  deliveryId: 'd1',
  route: 'deploys',
  event: 'push',
  profile: defaultProfile,
  attempt: 1,
  prompt: 'hello',
  toolsets: [],
};

function run(
  script: string,
  cwd: string,
  more: Partial<AgentRunRequest> = {},
  signal?: AbortSignal,
): Promise<AgentRunOutcome> {
  const runner = createCommandRunner({ command: ['sh', '-c', script], cwd, scope: new Map([['API_KEY', 'k1']]) });
  return runner({ ...request, ...more }, signal ?? new AbortController().signal);
}

t.test('CON-3 · the program runs in the home of its profile with its keys and no other’s', async (t) => {
  const home = makeHome(t, { 'here.txt': 'home' });
  process.env.KEY_OF_THE_DAEMON = 'x';
  t.teardown(() => {
    delete process.env.KEY_OF_THE_DAEMON;
  });
  t.same(await run('cat here.txt; echo " $API_KEY ${KEY_OF_THE_DAEMON-unset} $AGENT_ATTEMPT"', home.path), {
    kind: 'responded',
    response: 'home k1 unset 1',
  });
});

t.test('DIS-3 · the prompt reaches the program whole, whatever is in it, and in no argument', async (t) => {
  const home = makeHome(t);
  const prompt = `$(touch x) \`id\` "'\\ ü\n${'long '.repeat(100_000)}end`;
  t.same(await run('cat', home.path, { prompt }), { kind: 'responded', response: prompt });
});

t.test('DIS-4 · silence is a response', async (t) => {
  t.same(await run('true', makeHome(t).path), { kind: 'responded', response: '' });
});

t.test('DIS-3 · a failed run says why, and shows no half of a secret', async (t) => {
  const home = makeHome(t);
  t.match(await run('exit 3', home.path), { kind: 'failed', reason: /exited with 3$/ });
  const outcome = await run(
    'printf "key sk-%0480d and more words that fill the line up to its limit" 7 >&2; exit 1',
    home.path,
  );
  t.match(outcome, { kind: 'failed', reason: /exited with 1: ….*its limit$/ });
  t.notMatch(outcome.kind === 'failed' ? outcome.reason : '', /\d{3}/);
  t.match(await run('head -c 10485761 /dev/zero', home.path), { kind: 'failed', reason: /more than 10485760 bytes/ });
  t.match(await run('true', `${home.path}/gone`), { kind: 'failed', reason: /could not be started.*not a folder/ });
  const none = createCommandRunner({ command: [], cwd: home.path, scope: new Map() });
  t.match(await none(request, new AbortController().signal), { kind: 'failed', reason: /was not found/ });
});

t.test('DIS-3 · a run that is stopped ends with everything it began', async (t) => {
  const home = makeHome(t);
  const stopping = new AbortController();
  const outcome = run('sleep 600 & echo $! >>pids; wait', home.path, {}, stopping.signal);
  await until(() => numbersIn(`${home.path}/pids`).length === 1);

  stopping.abort();

  t.match(await outcome, { kind: 'failed', reason: /was stopped/ });
});
