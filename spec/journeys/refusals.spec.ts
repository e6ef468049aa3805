/** What untrusted senders are refused does not hide from the owner what else was refused. */

import t from 'tap';
import { askCli, type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { postSigned, signGithub } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

interface Row {
  readonly delivery_id: string;
  readonly status: string;
  readonly route: string;
  readonly reason: string;
  readonly key: string;
  readonly alike?: { readonly count: number; readonly first_key: string };
}

const routes = `        gh: {prompt: x}
        gl: {prompt: x, filters: [{field: app, equals: web}]}
        hub: {prompt: x, source: github}
`;

async function post(daemon: Daemon, route: string, id: string, headers = {}): Promise<number> {
  const response = await fetch(`${daemon.url}/webhooks/${route}`, {
    method: 'POST',
    body: '{}',
    headers: { 'x-request-id': id, ...headers },
  });
  await response.arrayBuffer();
  return response.status;
}

for (const { front, skip } of httpServers) {
  t.test(`on the HTTP server ${front}`, { skip }, async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig(routes, { more: `gateway: {front: ${front}, journal: memory}\n` }),
    });
    const daemon = await startDaemon(t, home.path);
    const list = async (...words: string[]) => (await cliJson(home.path, 'webhook', 'deliveries', ...words)) as Row[];

    t.test('SEC-8 · 3,000 unsigned requests are one row, and hide no other refusal', async (t) => {
      t.equal(await post(daemon, 'gl', 'wrong', { 'x-gitlab-token': 'not-the-secret' }), 401);
      t.equal((await postSigned(`${daemon.url}/webhooks/gl`, { app: 'api' }, { secret, id: 'filtered' })).status, 200);
      t.equal(await post(daemon, 'nowhere', 'lost'), 404);
      for (let n = 0; n < 3_000; n += 50) {
        const answers = await Promise.all(Array.from({ length: 50 }, (_, one) => post(daemon, 'gh', `u${n + one}`)));
        t.same(new Set(answers), new Set([401]));
      }

      const rows = await list();
      t.match(
        rows.map(({ delivery_id, status, route, alike }) => [delivery_id, status, route, alike?.count]),
        [
          [/^u\d+$/, 'refused', 'gh', 3_000],
          ['lost', 'refused', '/webhooks/nowhere', undefined],
          ['filtered', 'ignored', 'gl', undefined],
          ['wrong', 'refused', 'gl', undefined],
        ],
      );
      t.equal(rows.length, 4);
      t.same(await list('--before', rows[1]?.key ?? '', '--limit', '1'), rows.slice(2, 3), 'page by page');
      t.same(await list('--route', 'gh', '--status', 'refused'), rows.slice(0, 1));

      const table = await askCli(['webhook', 'deliveries'], home.path);
      t.match(table.stdout, /×3,000 since .* UTC: no recognised signature header/);
      const why = async (id: string): Promise<string> => (await askCli(['inspect', 'why', id], home.path)).stdout;
      t.match(await why('wrong'), 'Refused: the signature is not genuine: the token does not match.');
      t.match(await why('filtered'), 'app equals "web" saw "api"');
      const counted = /the signature is not genuine: .*\. It is one of 3,000 alike from one address, from .* to /;
      for (const id of ['u0', rows[0]?.alike?.first_key ?? '', rows[0]?.delivery_id ?? ''])
        t.match(await why(id), counted);
      const shown = await askCli(['webhook', 'deliveries', rows[0]?.key ?? ''], home.path);
      t.match(shown.stdout, /Alike +×3,000 since .* from one address, last /);
    });

    t.test('SRC-5 · the doctor and the timeline of a refused request say why, and show no secret', async (t) => {
      const doctor = async (...words: string[]) => (await askCli(['webhook', 'doctor', ...words], home.path)).stdout;
      t.match(
        await doctor('hub'),
        'No refused request of hub is kept; `agent events --route hub` lists its events, each with its outcome.',
      );
      const text = JSON.stringify({ zen: 'Keep it logically awesome.' });
      const headers = { ...signGithub(secret, text), 'x-github-event': 'ping' };
      const changed = await fetch(`${daemon.url}/webhooks/hub`, { method: 'POST', body: `${text}\n`, headers });
      t.equal(changed.status, 401);
      t.equal(await post(daemon, 'hub', 'stripe', { 'stripe-signature': 't=1,v1=00' }), 401);

      const shown = await doctor('hub');
      t.match(shown, /would match without the line break at its end/);
      t.match(shown, /These are Stripe’s headers; this route has source: github/);
      t.notMatch(shown, secret);
      const { refusals } = (await cliJson(home.path, 'webhook', 'doctor', 'hub')) as {
        readonly refusals: readonly { readonly key: string; readonly findings: readonly { readonly code: string }[] }[];
      };
      t.same(
        refusals.map(({ findings }) => findings[0]?.code),
        ['other-provider', 'body-changed'],
      );
      const why = await askCli(['inspect', 'why', refusals[1]?.key ?? ''], home.path);
      t.match(why.stdout, /→ The body was changed on its way: it would match without the line break at its end/);

      for (let n = 0; n < 200; n += 1)
        t.equal(
          await post(daemon, 'hub', `j${n}`, { 'x-hub-signature-256': `sha256=${String(n).padStart(64, '0')}` }),
          401,
        );
      const after = await doctor('hub');
      t.match(after, /would match without the line break at its end/, 'junk does not replace what the owner needs');
      t.match(after, /No usual change of the body/);
    });
  });
}
