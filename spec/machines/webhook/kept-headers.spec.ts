import t from 'tap';
import { compileKeptHeaders, isCredentialHeader } from '../../../machines/webhook/kept-headers.ts';

t.test('OBS-1 · DUR-2 · headers that carry credentials are never kept, also if a route names them', (t) => {
  const secrets = [
    'authorization',
    'proxy-authorization',
    'cookie',
    'set-cookie',
    'x-gitlab-token',
    'x-hostb-token',
    'x-hub-signature-256',
    'x-webhook-signature-v2',
    'webhook-signature',
    'x-api-key',
    'X-My-Secret',
    'x-password',
  ];
  for (const name of secrets) t.ok(isCredentialHeader(name), name);
  const plain = ['content-type', 'x-github-event', 'x-event-key', 'webhook-id', 'user-agent', 'x-request-id'];
  for (const name of plain) t.notOk(isCredentialHeader(name), name);
  const headers = Object.fromEntries([...secrets, ...plain, 'x-tenant'].map((name) => [name.toLowerCase(), name]));
  const keptHeaders = compileKeptHeaders(['x-tenant', 'x-gitlab-token', 'authorization', 'missing', '__proto__']);
  t.same(keptHeaders(headers), {
    'content-type': 'content-type',
    'x-github-event': 'x-github-event',
    'user-agent': 'user-agent',
    'x-tenant': 'x-tenant',
  });
  t.end();
});
