import t from 'tap';
import { proxyFor } from '../../../actors/mcp/env-proxy.ts';

const proxies = { http_proxy: 'http://plain:1', HTTPS_PROXY: 'https://me:pass@secure:2' };

t.test('TLS-2 · the variable of the scheme counts, the lower-case one first', (t) => {
  for (const [url, env, expected] of [
    ['http://x.test', proxies, 'http://plain:1/'],
    ['https://x.test', proxies, 'https://me:pass@secure:2/'],
    ['https://x.test', { https_proxy: 'low:3', HTTPS_PROXY: 'high:4' }, 'http://low:3/'],
    ['https://x.test', { https_proxy: '', HTTPS_PROXY: ' high:4 ' }, 'http://high:4/'],
    ['https://x.test', { http_proxy: 'plain:1' }, undefined],
    ['http://x.test', {}, undefined],
  ] as const) {
    t.equal(proxyFor(new URL(url), env)?.href, expected, `${url} ${JSON.stringify(env)}`);
  }
  t.end();
});

t.test('TLS-2 · loopback and what NO_PROXY names are asked without a proxy', (t) => {
  for (const [host, list, spared] of [
    ['localhost', '', true],
    ['api.localhost', '', true],
    ['127.8.9.1', '', true],
    ['[::1]', '', true],
    ['127.0.0.1.evil.test', '', false],
    ['x.test', '*', true],
    ['x.test', 'y.test, x.test', true],
    ['a.x.test', 'x.test', true],
    ['a.x.test', '.x.test', true],
    ['a.x.test', '*.x.test', true],
    ['ax.test', 'x.test', false],
    ['X.TEST', 'x.Test', true],
    ['x.test.', 'x.test', true],
    ['x.test:8080', 'x.test:8080', true],
    ['x.test:8080', 'x.test:80', false],
    ['x.test', 'x.test:80', true],
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['[fd00::1]', 'fd00::/8', true],
    ['[fd00::1]', 'fd00::1', true],
    ['[fd00::1]:80', '[fd00::1]:80', true],
    ['x.test', '10.0.0.0/8 10.0.0.0/99 / :80 .', false],
  ] as const) {
    const env = { ...proxies, NO_PROXY: list };
    t.equal(proxyFor(new URL(`http://${host}`), env) === undefined, spared, `${host} with ${list || 'no list'}`);
  }
  t.end();
});

t.test('TLS-2 · a proxy of another kind is named without its password', (t) => {
  for (const value of ['socks5://me:secret@p:1', 'http://me:secret@:x']) {
    t.throws(() => proxyFor(new URL('http://x.test'), { HTTP_PROXY: value }), {
      message: /^HTTP_PROXY: (?!.*secret).*\[proxy-invalid\]$/,
    });
  }
  t.end();
});
