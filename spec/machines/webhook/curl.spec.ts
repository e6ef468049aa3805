import { execFileSync } from 'node:child_process';
import t from 'tap';
import { sourceOf } from '../../../machines/config/sources.ts';
import { curlCommand } from '../../../machines/webhook/curl.ts';
import { hmacSha256 } from '../../../machines/webhook/hmac.ts';

const request = {
  url: 'http://127.0.0.1:1/webhooks/r',
  body: `{"a":"it's"}`,
  contentType: 'application/json',
  headers: {},
};

t.test('SIG-1 · the shell computes the signature of the scheme over the body as it is', (t) => {
  const verdict = curlCommand({ ...request, scheme: sourceOf('github')?.schemes[0] });
  if (verdict.kind !== 'command') throw new TypeError(verdict.why);

  const printed = execFileSync('/bin/sh', ['-c', verdict.text.replace('curl -sS', "printf '%s\\n'")], {
    env: { ...process.env, SECRET: 'a secret of the spec' },
    encoding: 'utf8',
  });

  const digest = hmacSha256(Buffer.from('a secret of the spec'))('', Buffer.from(request.body)).toString('hex');
  t.match(printed.toLowerCase(), `x-hub-signature-256: sha256=${digest}`);
  t.match(printed, request.body);
  t.end();
});

t.test('SIG-1 · a token is sent, an unsigned route needs no secret, and a certificate signs nothing here', (t) => {
  const textOf = (verdict: ReturnType<typeof curlCommand>): string =>
    verdict.kind === 'command' ? verdict.text : verdict.why;

  t.match(
    textOf(
      curlCommand({ ...request, scheme: sourceOf('gitlab')?.schemes.find(({ algorithm }) => algorithm === 'token') }),
    ),
    /-H "[^"]*\$SECRET"/,
  );
  t.notMatch(textOf(curlCommand({ ...request, scheme: 'none' })), /SECRET/);
  const at = { header: 'x-sig' };
  const signed = { at, algorithm: 'hmac-sha256', encoding: 'hex', signed: '{timestamp}{body}', key: 'text' } as const;
  const timestamp = { at: { header: 'x-time' }, unit: 'iso', toleranceSeconds: 300 } as const;
  t.match(textOf(curlCommand({ ...request, scheme: { ...signed, timestamp } })), 'TIME=$(date -u +%Y-%m-%dT%H:%M:%SZ)');
  const parts = { part: 'h1', list: 'semicolons', timestamp: { ...timestamp, at: { part: 'ts' } } } as const;
  t.match(textOf(curlCommand({ ...request, scheme: { ...signed, ...parts } })), '-H "x-sig: ts=$TIME;h1=$(printf');
  const form = { ...request, body: '@/etc/hostname', contentType: 'application/x-www-form-urlencoded' };
  t.match(textOf(curlCommand({ ...form, scheme: 'none' })), '--data-raw "$BODY"', 'a body is the name of no file');
  t.match(textOf(curlCommand({ ...request, scheme: sourceOf('paypal')?.schemes[0] })), /only the sender itself/);
  t.end();
});

t.test('DUR-2 · a body that a terminal would take for keys is not offered for pasting', (t) => {
  const form = { ...request, contentType: 'application/x-www-form-urlencoded', scheme: 'none' } as const;
  for (const key of ['\u0003', '\u001b[201~', '\u0004', '\u007f', '\u009b201~']) {
    const verdict = curlCommand({ ...form, body: `a=${key}\nid > stolen\n` });
    t.match(verdict, { kind: 'refused', why: /control characters/ }, JSON.stringify(key));
  }
  t.equal(curlCommand({ ...form, body: '{\r\n\t"a": "é"}\n' }).kind, 'command');
  t.end();
});
