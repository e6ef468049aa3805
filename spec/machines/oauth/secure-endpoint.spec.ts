import t from 'tap';
import { insecureWords, isSecureEndpoint, isWebAddress } from '../../../machines/oauth/secure-endpoint.ts';

t.test('OAU-1 · https everywhere, plain HTTP on the loopback alone', (t) => {
  for (const [endpoint, may] of [
    ['https://as.example/token', true],
    ['http://127.0.0.1:8080/token', true],
    ['http://127.9.9.9/token', true],
    ['http://localhost/token', true],
    ['http://as.localhost:1/token', true],
    ['http://[::1]/token', true],
    ['http://as.example/token', false],
    ['http://192.168.1.5/token', false],
    ['http://localhost.evil.example/token', false],
    ['http://127.0.0.1.evil.example/token', false],
    ['ftp://127.0.0.1/token', false],
    ['file:///etc/passwd', false],
    ['javascript:alert(1)', false],
    ['', false],
  ] as const)
    t.equal(isSecureEndpoint(endpoint), may, endpoint);
  t.end();
});

t.test('DEV-4 · a browser is sent to pages of the web alone', (t) => {
  t.ok(isWebAddress('https://as.example/activate'));
  t.ok(isWebAddress('http://192.168.1.5/activate'));
  for (const address of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'web+https://as.example',
    'activate',
    '',
  ])
    t.notOk(isWebAddress(address), address);
  t.end();
});

t.test('OBS-1 · the refusal shows the host and nothing that may be secret', (t) => {
  const words = insecureWords('the token endpoint', 'http://user:secret@as.example:81/token?key=secret');
  t.equal(
    words,
    'the token endpoint is not served over https (http://as.example:81), so it is not used; ask the operator of the server',
  );
  t.notMatch(words, /secret/);
  t.match(insecureWords('it', 'nonsense'), /no address/);
  t.end();
});
