import t from 'tap';
import { isLoopback, isLoopbackHost } from '../../../machines/base/loopback.ts';

t.test('OAU-1 · TLS-2 · this machine is localhost with all below it, 127.0.0.0/8 and ::1, and nothing else', (t) => {
  for (const [host, here] of [
    ['localhost', true],
    ['as.localhost', true],
    ['127.0.0.1', true],
    ['127.9.8.7', true],
    ['[::1]', true],
    ['::1', true],
    ['localhost.evil.example', false],
    ['notlocalhost', false],
    ['127.0.0.1.evil.example', false],
    ['127.evil.example', false],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['::', false],
    ['', false],
  ] as const)
    t.equal(isLoopback(host), here, host);
  t.end();
});

t.test('OAU-1 · every spelling that an address may have comes to the same', (t) => {
  for (const address of ['http://LOCALHOST', 'http://2130706433', 'http://0x7f.1', 'http://127.1', 'http://[0:0::1]'])
    t.ok(isLoopback(new URL(address).hostname), address);
  t.end();
});

t.test('INS-2 · only a loopback address is listened on', (t) => {
  for (const loopback of ['127.0.0.1', '127.8.9.1', 'localhost', '::1']) t.ok(isLoopbackHost(loopback), loopback);
  for (const open of [
    '0.0.0.0',
    '::',
    '192.168.1.2',
    '127.0.0.1.evil.example',
    'evil.127.0.0.1',
    '[::1]',
    'page.localhost',
    '',
    'example.org',
  ])
    t.notOk(isLoopbackHost(open), open);
  t.end();
});
