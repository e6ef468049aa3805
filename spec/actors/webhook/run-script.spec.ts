import { symlinkSync } from 'node:fs';
import t from 'tap';
import { createRunScript } from '../../../actors/webhook/run-script.ts';
import { defaultProfile, routeName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { ScriptResult } from '../../../machines/webhook/script-outcome.ts';
import { makeHome, type TestHome } from '../../support/home.ts';
import { lentTime } from '../../support/lent-time.ts';
import { numbersIn, until } from '../../support/processes.ts';

const payload = { title: 'it’s "quoted"', big: 'x'.repeat(300_000) };

function run(
  home: TestHome,
  script: string,
  scriptTimeoutMs = 600_000,
  signal = new AbortController().signal,
  name = 'deploys',
): Promise<ScriptResult> {
  const route = { name: routeName(name), profile: defaultProfile, script, scriptTimeoutMs } as Route;
  return createRunScript({ scripts: `${home.path}/scripts`, home: home.path })({ route, payload }, signal);
}

const echoTitle = 'import json, sys; print(json.load(sys.stdin)["title"])';

t.test('SCR-1 · the extension chooses the interpreter, and the payload is on standard input', async (t) => {
  const home = makeHome(t);
  const node =
    'let s = ""; process.stdin.on("data", (d) => { s += d; }).on("end", () => console.log(JSON.parse(s).title));';
  // Not executable: the interpreter is named, not the file.
  home.write('scripts/a.sh', 'IFS= read -r -d "" all; [[ ${#all} -gt 300000 ]] && echo "$AGENT_ROUTE $AGENT_PROFILE"');
  home.write('scripts/a.bash', 'echo $BASH');
  home.write('scripts/a.js', node);
  home.write('scripts/a.mjs', node);
  home.write('scripts/deep/a.py', echoTitle);
  home.write('scripts/bare', `#!/usr/bin/env python3\n${echoTitle}`, 0o700);
  home.write('scripts/closed.rb', '#!/bin/sh\necho from sh');
  home.write('scripts/argued', '#! /usr/bin/env  -S sh -e \r\nfalse; echo not reached');
  home.write('scripts/plain', 'echo no');
  home.write('scripts/empty', '');
  home.write('scripts/nobody', '#!/no/such/interpreter\n');

  t.match(await run(home, 'a.sh'), { kind: 'exited', code: 0, stdout: 'deploys default\n' });
  t.match(await run(home, 'a.bash'), { kind: 'exited', code: 0, stdout: /bash/ });
  for (const script of ['a.js', 'a.mjs', 'deep/a.py', 'bare', './deep/../a.js', `${home.path}/scripts/a.js`]) {
    t.match(await run(home, script), { kind: 'exited', code: 0, stdout: `${payload.title}\n` }, script);
  }
  t.match(await run(home, 'closed.rb'), { kind: 'exited', code: 0, stdout: 'from sh\n' }, 'by its first line alone');
  t.match(await run(home, 'argued'), { kind: 'exited', code: 1, stdout: '' }, 'an interpreter takes one argument');
  for (const script of ['plain', 'empty'])
    t.match(await run(home, script), { kind: 'missing', why: /neither executable nor/ }, script);
  t.match(await run(home, 'nobody'), { kind: 'missing', why: /"\/no\/such\/interpreter" is not there/ });
});

t.test('SCR-1 · a TypeScript script runs where this Node can strip types', async (t) => {
  const home = makeHome(t, { 'scripts/a.ts': 'const word: string = "typed"; console.log(word);' });
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const strips = major > 22 || (major === 22 && minor >= 6);
  t.match(await run(home, 'a.ts'), strips ? { code: 0, stdout: 'typed\n' } : { kind: 'exited', code: 1 });
});

t.test('SCR-1 · nothing outside the scripts folder runs, whatever the links', async (t) => {
  const home = makeHome(t, { 'scripts/in.sh': 'echo in', 'out.sh': 'echo out', 'scripts/dir.sh/x': '' });
  symlinkSync('../out.sh', `${home.path}/scripts/leaves.sh`);
  symlinkSync('..', `${home.path}/scripts/up`);
  symlinkSync('in.sh', `${home.path}/scripts/stays.sh`);
  symlinkSync('loop.sh', `${home.path}/scripts/loop.sh`);
  const outside = ['../out.sh', 'leaves.sh', 'up/out.sh', '/bin/sh', 'loop.sh', 'gone.sh', 'dir.sh', '.', '', 'a\0.sh'];
  for (const script of [...outside, `${home.path}/out.sh`, 'deep/../../out.sh']) {
    t.same(await run(home, script), { kind: 'missing' }, JSON.stringify(script));
  }
  t.match(await run(home, 'stays.sh'), { kind: 'exited', code: 0, stdout: 'in\n' });
});

t.test('SCR-2 · OBS-1 · a script that fails leaves the end of what it wrote to standard error', async (t) => {
  const home = makeHome(t, { 'scripts/fails.sh': 'echo "jq: command not found" >&2; exit 3' });
  t.same(await run(home, 'fails.sh'), { kind: 'exited', code: 3, stdout: '', stderr: 'jq: command not found' });
});

t.test('SCR-2 · a script cannot hang, flood or outlive the request', async (t) => {
  const home = makeHome(t, {
    'scripts/silent.sh': 'exec <&-; exit 0',
    'scripts/rubbish.sh': 'printf "\\377\\376{"',
    'scripts/flood.sh': 'yes',
    'scripts/fill.sh': 'head -c 1048576 /dev/zero | tr "\\0" x',
    'scripts/over.sh': 'head -c 1048577 /dev/zero; sleep 600',
    'scripts/stubborn.sh': "trap '' TERM; echo $$ >>pids; while :; do sleep 600; done",
    'scripts/fails.sh': 'echo partial; exit 7',
  });
  t.match(await run(home, 'silent.sh'), { kind: 'exited', code: 0, stdout: '' });
  t.match(await run(home, 'rubbish.sh'), { kind: 'exited', code: 0, stdout: '\uFFFD\uFFFD{' });
  t.match(await run(home, 'fails.sh'), { kind: 'exited', code: 7, stdout: 'partial\n' });
  const [flood, over, full] = await Promise.all(['flood.sh', 'over.sh', 'fill.sh'].map((name) => run(home, name)));
  const time = lentTime(t);
  const hanging = run(home, 'stubborn.sh', 60_000);
  await until(() => numbersIn(`${home.path}/pids`).length === 1);
  time.pass(60_000);
  time.pass(2_000);
  const stubborn = await hanging;
  t.same(
    [flood, over, stubborn].map((one) => one?.kind),
    ['flooded', 'flooded', 'timedOut'],
  );
  t.ok(full?.kind === 'exited' && full.stdout.length === 1_048_576, 'exactly the cap passes');
  t.match(await run(home, 'stubborn.sh', 60_000, AbortSignal.abort()), { kind: 'aborted' });
});

t.test('SCR-2 · a script sees none of the gateway’s variables', async (t) => {
  process.env.WEBHOOK_SECRET_OF_SPEC = 'x';
  t.teardown(() => {
    delete process.env.WEBHOOK_SECRET_OF_SPEC;
  });
  const home = makeHome(t, { 'scripts/env.sh': 'env; pwd' });
  const seen = await run(home, 'env.sh');
  t.match(seen, { kind: 'exited', code: 0 });
  const text = seen.kind === 'exited' ? seen.stdout : '';
  t.match(text, /^PATH=/m);
  t.notMatch(text, /WEBHOOK_SECRET_OF_SPEC/);
});
