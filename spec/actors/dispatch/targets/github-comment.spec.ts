import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { defaultGithubComment } from '../../../../actors/dispatch/deliver.ts';
import { createGithubComment, type GithubClient } from '../../../../actors/dispatch/targets/github-comment.ts';
import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import type { PartlySent, SendOutcome } from '../../../../machines/dispatch/send-outcome.ts';
import { requestOf } from '../../../conformance/target.ts';
import { makeHome } from '../../../support/home.ts';
import { numbersIn, until } from '../../../support/processes.ts';

const never = new AbortController().signal;

function targetOf(client: Partial<GithubClient>) {
  return createGithubComment(
    { command: 'gh', cwd: '.', timeoutMs: 60_000, scope: new Map(), ...client },
    defaultGithubComment,
    { now: () => 0, wait: () => Promise.resolve(), random: () => 0 },
  );
}

interface StandIn {
  deliver(extra: JsonObject, text?: string, signal?: AbortSignal, sent?: PartlySent): Promise<SendOutcome>;
  /** The texts, in their order, where the script keeps them. */
  parts(): readonly string[];
  /** How long each text was, where the script writes that down. */
  sizes(): readonly number[];
  /** The words and the standard input of the last call; undefined before the first. */
  last(): { readonly words: readonly string[]; readonly text: string } | undefined;
}

/** A client that writes down how it was called and then does as the script says. */
function standIn(
  t: Test,
  then = 'echo https://host.example/acme/app/pull/7#issuecomment-1',
  timeoutMs = 60_000,
): StandIn {
  const home = makeHome(t);
  home.write(
    'bin/gh',
    `#!/bin/bash\nfor word in "$@"; do printf '%s\\n' "$word"; done >words\ncat >text\n${then}\n`,
    0o700,
  );
  const scope = new Map([['GH_TOKEN', 'of-the-profile']]);
  const target = targetOf({ command: `${home.path}/bin/gh`, cwd: home.path, timeoutMs, scope });
  const read = (name: string): string => readFileSync(`${home.path}/${name}`, 'utf8');
  return {
    deliver: (extra, text = 'Looks good.', signal = never, sent) =>
      target.deliver({ ...requestOf(text, extra), ...(sent === undefined ? {} : { sent }) }, signal),
    parts: () =>
      readdirSync(home.path)
        .filter((name) => name.startsWith('part'))
        .sort()
        .map(read),
    sizes: () => numbersIn(`${home.path}/sizes`),
    last: () => {
      try {
        return { words: read('words').trimEnd().split('\n'), text: read('text') };
      } catch {
        return undefined;
      }
    },
  };
}

const pull = { repo: 'acme/app', pr_number: '7' };

t.test('DLV-3 · the comment goes to the client on standard input, as words and through no shell', async (t) => {
  const client = standIn(t);
  const text = '$(touch x) `id`\n--repo evil/evil\n— ü';

  t.same(await client.deliver(pull, text), {
    kind: 'delivered',
    messageId: 'https://host.example/acme/app/pull/7#issuecomment-1',
  });

  t.same(client.last(), { words: ['pr', 'comment', '7', '--repo', 'acme/app', '--body-file', '-'], text });
  await client.deliver({ ...pull, pr_number: 8, kind: 'issue' });
  t.same(client.last()?.words.slice(0, 3), ['issue', 'comment', '8']);
});

t.test('DLV-3 · an invalid repo or number is refused before any client starts', async (t) => {
  const client = standIn(t);
  const repos: Json[] = [
    'app',
    'a/b/c',
    '-x/y',
    'x/-y',
    'a b/c',
    '../..',
    './x',
    '',
    7,
    null,
    'https://h/a/b',
    'a/b\n',
  ];
  for (const repo of repos) {
    t.match(await client.deliver({ ...pull, repo }), { kind: 'refused', reason: /deliver_extra\.repo/ }, `${repo}`);
  }
  const numbers: Json[] = ['0', '-1', '1.5', 'x', '', '7; id', 7.5, -7, null, true, '{pull_request.number}', '7\n'];
  for (const pr_number of numbers) {
    t.match(await client.deliver({ ...pull, pr_number }), { kind: 'refused', reason: /pr_number/ }, `${pr_number}`);
  }
  t.match(await client.deliver({}), { kind: 'refused' });
  t.equal(client.last(), undefined);
});

t.test('DLV-3 · what the client says is what came of it', async (t) => {
  const said = async (then: string): Promise<SendOutcome> => standIn(t, then).deliver(pull);
  t.same(await said('exit 0'), { kind: 'delivered' });
  t.match(await said('echo "could not resolve to a PullRequest" >&2; exit 1'), {
    kind: 'refused',
    reason: /exited with 1: could not resolve.*; for an issue, deliver_extra\.kind must be "issue"/,
  });
  t.match(await said('exit 4'), { kind: 'refused', reason: /not logged in.*gh auth login/ });
  for (const [words, expected] of [
    ['HTTP 401: Bad credentials', { kind: 'refused', class: 'auth' }],
    ['HTTP 404: Not Found', { kind: 'refused', class: 'notFound' }],
    ['GraphQL: Could not resolve to a Repository', { kind: 'refused', class: 'notFound' }],
    ['HTTP 403: Resource not accessible by integration', { kind: 'refused', class: 'forbidden' }],
    ['HTTP 403: You have exceeded a secondary rate limit', { kind: 'rateLimited', retryAfterMs: 60_000 }],
    ['GraphQL: was submitted too quickly', { kind: 'rateLimited' }],
    ['GraphQL: Body is too long', { kind: 'refused', class: 'tooLong' }],
    ['error connecting to api.host.example', { kind: 'transient' }],
    ['x509: certificate has expired or is not yet valid', { kind: 'transient' }],
    ['x509: certificate signed by unknown authority', { kind: 'refused', class: 'permanent' }],
    ['dial tcp 127.0.0.1:1: connect: connection refused', { kind: 'transient' }],
    ['HTTP 502: Bad Gateway', { kind: 'unknown' }],
    ['read: connection reset by peer', { kind: 'unknown' }],
    ['something else', { kind: 'refused', class: 'permanent' }],
  ] as const) {
    t.match(await said(`echo "${words}" >&2; exit 1`), expected, words);
  }
  t.match(await said('kill -KILL $$'), { kind: 'unknown' }, 'killed: the comment may stand');
  t.match(await said('yes'), { kind: 'unknown' });
  t.match(await standIn(t, 'sleep 600', 50).deliver(pull), { kind: 'unknown', reason: /no answer within 0\.05 s/ });
  t.match(await said('test "$GH_TOKEN" = of-the-profile && test "$GH_PROMPT_DISABLED" = 1'), { kind: 'delivered' });
});

t.test('DLV-3 · a client that is stopped midway has an unknown outcome', async (t) => {
  const stopping = new AbortController();
  const client = standIn(t, 'sleep 600');
  const outcome = client.deliver(pull, 'x', stopping.signal);
  await until(() => client.last()?.text === 'x');

  stopping.abort();

  t.match(await outcome, { kind: 'unknown', reason: /stopped before it answered/ });
});

t.test('DIS-4 · an empty text reaches no client, which would refuse it in its own words', async (t) => {
  const client = standIn(t);
  t.match(await client.deliver(pull, ' \n'), { kind: 'delivered', reason: 'nothing to send' });
  t.equal(client.last(), undefined);
});

t.test('DLV-4 · a text above the host’s limit becomes several comments, and goes on where it stopped', async (t) => {
  const client = standIn(
    t,
    'cat text >>all; LC_ALL=C.UTF-8 wc -m <text >>sizes; echo "#$(wc -l <sizes)"; [ "$(wc -l <sizes)" != 3 ]',
  );
  const line = `${'é'.repeat(99)}\n`;
  const text = line.repeat(2_000).trimEnd();

  const stopped = await client.deliver(pull, text);

  t.match(stopped, {
    kind: 'refused',
    reason: /exited with 1.*piece 3 of 4; those before were delivered, the first as #1/,
    partly: { pieces: 2, of: 4, messageId: '#1' },
  });
  t.match(await client.deliver(pull, text, never, { pieces: 2, of: 4, messageId: '#1' }), {
    kind: 'delivered',
    messageId: '#1',
  });
  t.ok(client.sizes().every((size) => size <= 65_536));
  t.equal(client.sizes().length, 5, 'what had arrived is not written again');
  t.match(await client.deliver(pull, 'x'.repeat(655_361)), {
    kind: 'refused',
    class: 'tooLong',
    reason: /a text of 655361 characters is too long; 10 messages of 65536/,
  });
});

t.test('DLV-4 · a text that fills more comments than are written is refused completely', async (t) => {
  const client = standIn(t);
  const text = Array.from({ length: 12 }, () => 'x'.repeat(40_000)).join('\n\n');

  t.match(await client.deliver(pull, text), { kind: 'refused', class: 'tooLong', reason: /10 messages of 65536/ });

  t.equal(client.last(), undefined);
});

t.test('DLV-4 · a comment is cut between characters and blocks, and a megabyte reaches no client', async (t) => {
  const client = standIn(t, 'cat text >>all; cp text "part$(ls | grep -c part)"; echo done');
  const text = '👩‍👩‍👧‍👦 e\u0301 🇩🇪 漢字\n\n```sh\nrun --all 👍\n```\n'.repeat(2_000);

  t.match(await client.deliver(pull, text), { kind: 'delivered' });

  const parts = client.parts();
  t.equal(parts.length, 2);
  for (const part of parts)
    t.ok(part.isWellFormed() && !part.includes('\ufffd') && [...part.matchAll(/^```/gm)].length % 2 === 0);
  t.ok(parts.join('').replace(/\s/g, '') === text.replace(/\s/g, ''));
  t.match(await client.deliver(pull, 'word '.repeat(209_716)), { kind: 'refused', class: 'tooLong' });
  t.equal(client.parts().length, 2);
});

t.test('DLV-3 · a client that is not installed is named with its cure', async (t) => {
  t.match(await targetOf({ command: 'no-such-client' }).deliver(requestOf('x', pull), never), {
    kind: 'refused',
    reason: /"no-such-client" was not found in the gateway's PATH; install it/,
  });
});

t.test('DLV-4 · the client is asked for its login, and one that is not there is failed with the cure', async (t) => {
  const home = makeHome(t);
  const clientOf = (script: string | undefined, scope: readonly (readonly [string, string])[] = []) => {
    if (script !== undefined) home.write('bin/gh', `#!/bin/bash\nprintf '%s ' "$@" >words\n${script}\n`, 0o700);
    const command = script === undefined ? `${home.path}/no/gh` : `${home.path}/bin/gh`;
    return targetOf({ command, cwd: home.path, scope: new Map(scope) });
  };

  t.match(await clientOf(undefined).verify(never), {
    kind: 'refused',
    reason: /was not found in the gateway's PATH; install it.*auth login/,
  });
  t.same(await clientOf('echo "  Logged in to github.com account ops (GH_TOKEN)" >&2').verify(never), {
    kind: 'verified',
    as: 'ops',
  });
  t.equal(readFileSync(`${home.path}/words`, 'utf8'), 'auth status --hostname github.com ');
  const loggedOut = clientOf('echo "You are not logged into any GitHub hosts. To log in, run: gh auth login"; exit 1', [
    ['GH_HOST', 'git.example.org'],
  ]);
  t.match(await loggedOut.verify(never), { kind: 'refused', class: 'auth', reason: /auth login/ });
  t.equal(readFileSync(`${home.path}/words`, 'utf8'), 'auth status --hostname git.example.org ');
  t.match(await clientOf('echo "error connecting to api.github.com"; exit 1').verify(never), { kind: 'transient' });
  t.match(await clientOf('echo "unknown command"; exit 2').verify(never), { kind: 'unverifiable' });
});

t.test('DLV-4 · only the account that writes the comments decides whether the client is logged in', async (t) => {
  const good = (host: string, active = true) =>
    `${host}\n  ✓ Logged in to ${host} account ops (keyring)\n  - Active account: ${active}\n`;
  const stale = (host: string, active = true) =>
    `${host}\n  X Failed to log in to ${host} account old (keyring)\n  - Active account: ${active}\n  - The token in keyring is invalid.\n  - To re-authenticate, run: gh auth login -h ${host}\n`;
  const none = 'You are not logged into any accounts on github.com';
  /** A client that tests the accounts of all its hosts, or of the one it is asked for, as `gh` does. */
  const verified = (here: string, others: string, scope: readonly (readonly [string, string])[] = []) => {
    const home = makeHome(t, { here, all: here === none ? others : here + others });
    const script = `case "$*" in *--hostname*) file=here;; *) file=all;; esac\ncat $file\n! grep -qE 'X Failed|not logged' $file\n`;
    home.write('bin/gh', `#!/bin/bash\n${script}`, 0o700);
    return targetOf({ command: `${home.path}/bin/gh`, cwd: home.path, scope: new Map(scope) }).verify(never);
  };
  const ops = { kind: 'verified', as: 'ops' };
  const auth = { kind: 'refused', class: 'auth' };

  t.match(await verified(good('github.com'), stale('git.example.org')), ops, 'a stale login of another host');
  t.match(
    await verified(good('github.com') + stale('github.com', false), good('git.example.org')),
    ops,
    'or of another account',
  );
  t.match(await verified(stale('github.com') + good('github.com', false), ''), auth);
  t.match(await verified(none, good('git.example.org')), ops, 'the only host is the one that is used');
  t.match(await verified(none, stale('git.example.org')), auth);
  t.match(await verified(none, good('git.example.org') + good('git.example.com')), auth);
  t.match(await verified(none, good('git.example.org'), [['GH_HOST', 'github.com']]), auth);
});

t.test('DLV-4 · a token that the client calls invalid because it reached no host is not logged out', async (t) => {
  const invalid = (host: string) =>
    `  X Failed to log in to ${host} account ops (keyring)\n  - Active account: true\n  - The token in keyring is invalid.\n  - To re-authenticate, run: gh auth login -h ${host}`;
  /** As gh 2.23 has it. */
  const older = `  X github.com: authentication failed\n  - The github.com token in hosts.yml is no longer valid.\n  - To re-authenticate, run: gh auth login -h github.com`;
  const verified = async (status: string, request: string, scope: readonly (readonly [string, string])[] = []) => {
    const home = makeHome(t);
    const script = `#!/bin/bash\ncase "$1 $4" in\napi\\ rate_limit) echo "$3" >host; ${request} ;;\n*) cat >&2 <<'END'\n${status}\nEND\nexit 1 ;;\nesac\n`;
    home.write('bin/gh', script, 0o700);
    const target = targetOf({ command: `${home.path}/bin/gh`, cwd: home.path, scope: new Map(scope) });
    return { outcome: await target.verify(never), host: readFileSync(`${home.path}/host`, 'utf8').trim() };
  };
  const failing = (words: string) => `echo '${words}' >&2; exit 1`;
  for (const status of [invalid('github.com'), older]) {
    for (const words of [
      'error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com',
      'Get "https://api.github.com/rate_limit": x509: certificate has expired or is not yet valid',
      'gh: Bad gateway (HTTP 502)',
    ])
      t.match(await verified(status, failing(words)), { outcome: { kind: 'transient' }, host: 'github.com' }, words);
    const refused = { outcome: { kind: 'refused', class: 'auth' } };
    t.match(await verified(status, failing('gh: Bad credentials (HTTP 401)')), refused);
    t.match(await verified(status, failing('unknown command "api"')), refused);
    const untrusted = await verified(status, failing('x509: certificate signed by unknown authority'));
    t.match(untrusted, { outcome: { kind: 'refused', class: 'permanent', reason: /does not trust its host: x509/ } });
    t.match(await verified(status, 'echo {}'), { outcome: { kind: 'unverifiable' } });
  }
  const own = [['GH_HOST', 'git.example.org']] as const;
  const away = await verified(invalid('git.example.org'), failing('dial tcp: no such host'), own);
  t.match(away, { outcome: { kind: 'transient' }, host: 'git.example.org' });
});
