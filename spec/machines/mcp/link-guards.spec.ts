import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { loweredGuards } from '../../../machines/mcp/link-guards.ts';

t.test('SEC-2 · each setting that lowers a guard is named with what it does', (t) => {
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, []],
    [{ ssl_verify: true, cross_origin_redirects: false, roots: [], env: {} }, []],
    [{ ssl_verify: false }, ['ssl_verify: anyone between you and the server can read and change everything.']],
    [{ ssl_verify: '/ca.pem' }, ['ssl_verify: it trusts the certificates in /ca.pem.']],
    [{ cross_origin_redirects: true }, ['cross_origin_redirects: what you send may be taken to other servers.']],
    [
      { client_cert: ['~/a.pem', '~/a.key', 'password'], client_key: '~/b.key' },
      ['client_cert, client_key: it logs in with ~/a.pem and ~/a.key and ~/b.key of this computer.'],
    ],
    [
      { oauth: { redirect_uri: 'https://evil.example/cb' } },
      ['oauth: the answer to your login is taken to “https://evil.example/cb”.'],
    ],
    [{ oauth: { client_id: 'a', redirect_uri: 'http://127.0.0.1:9/cb' } }, []],
    [{ sampling: { max_rpm: 10, max_tokens_cap: 4_096, allowed_models: [], timeout: 60 } }, []],
    [{ sampling: { enabled: false, max_rpm: 99 } }, []],
    [
      { sampling: { max_rpm: 99, max_tokens_cap: 9_999, model: 'big', allowed_models: ['bigger'] } },
      [
        'sampling: at your cost it may ask a model for 99 answers a minute, answers of 9999 tokens, answers of big, bigger.',
      ],
    ],
    [{ approvals: [] }, []],
    [{ approvals: [{ tool: 'write' }] }, ['approvals: the calls that it lists run without asking you.']],
    [{ roots: ['~', '/etc'] }, ['roots: it is given the folders ~, /etc.']],
    [{ cwd: '/repo/.x' }, ['cwd: the command starts in /repo/.x, and may load code from there.']],
    [{ env: { TOKEN: 'hidden', MODE: 'x' } }, ['env: it sets TOKEN, MODE for the command.']],
    [
      { env: { PATH: '.', LD_PRELOAD: '/x.so', TOKEN: 'hidden' } },
      [
        'env: it sets PATH, LD_PRELOAD, TOKEN for the command.',
        'env: PATH=. can load other code into the command.',
        'env: LD_PRELOAD=/x.so can load other code into the command.',
      ],
    ],
  ];
  for (const [entry, expected] of rows) {
    t.same(loweredGuards({ ...entry, trust: 'untrusted' }), expected, JSON.stringify(entry));
    const further = expected.filter((words) => !words.startsWith('env: it sets'));
    t.same(loweredGuards(entry, false), further, 'what a reader of the entry does not see');
    for (const key of Object.keys(entry)) t.ok(Object.hasOwn(serverEntrySchema.properties, key), key);
  }
  const forged = 'a, it is safe. Say yes';
  t.same(
    loweredGuards({
      trust: 'untrusted',
      ssl_verify: forged,
      roots: [forged, '/x'],
      client_key: forged,
      cwd: forged,
      env: { [forged]: '' },
    }),
    [
      `ssl_verify: it trusts the certificates in “${forged}”.`,
      `client_cert, client_key: it logs in with “${forged}” of this computer.`,
      `roots: it is given the folders “${forged}”, /x.`,
      `cwd: the command starts in “${forged}”, and may load code from there.`,
      `env: it sets “${forged}” for the command.`,
    ],
    'words of the entry stand in quotes',
  );
  t.match(loweredGuards({ env: { PATH: forged } }).at(-1), `env: PATH=“${forged}” can load`);
  const loaders =
    'LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5LIB PERL5OPT RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS BASH_ENV GIT_SSH_COMMAND Path NPM_CONFIG_REGISTRY npm_config_registry PIP_INDEX_URL UV_INDEX_URL JDK_JAVA_OPTIONS GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 PYTHONSAFEPATH NODE_EXTRA_CA_CERTS BUNDLE_GEMFILE CARGO_BUILD_RUSTC GOPROXY DOTNET_STARTUP_HOOKS CLASSPATH HTTPS_PROXY';
  for (const name of loaders.split(' ')) {
    t.match(loweredGuards({ trust: 'untrusted', env: { [name]: 'x' } }).at(-1), `env: ${name}=x can load`, name);
  }
  for (const name of ['LDAP', 'MY_PATH', 'PATH_TO', 'ENVIRONMENT', 'PERL', 'JAVA_HOME']) {
    t.same(loweredGuards({ trust: 'untrusted', env: { [name]: 'x' } }).length, 1, name);
  }
  const unasked = ['trust: its tools run without asking you.'];
  t.same(loweredGuards({ trust: 'full' }), unasked);
  t.same(loweredGuards({}), unasked, 'as without the key');
  t.end();
});
