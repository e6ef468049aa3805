/** Requests as their providers sign them, to a real gateway: taken once, and by their own scheme alone. */

import { createHmac } from 'node:crypto';
import t from 'tap';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson } from '../support/webhook-home.ts';

const stripe = 'whsec_q8Zr4Lk2Wm7Tn1Bd9X';
const older = 'whsec_Hd3Jf6Pw9Ys0BcR5Kq';
const square = 'q8Zr4Lk2Wm7Tn1-Vx5Bd9';
const acme = 'Hd3Jf6Pw9Ys0Bc-R5Kq8Z';
const publicUrl = 'https://hooks.example.com';

interface Row {
  readonly delivery_id: string;
  readonly event: string;
  readonly route: string;
  readonly status: string;
  readonly reason?: string;
}

t.test('SRC-1 · SRC-2 · IDM-2 · providers are verified by their own schemes, and their retries run once', async (t) => {
  const home = makeHome(t);
  const routes = {
    payments: { source: 'stripe', secret: [stripe, older], prompt: '{id}' },
    sales: { source: 'square', secret: square, prompt: '{event_id}' },
    orders: {
      signature: { header: 'X-Acme', prefix: 'v=', signed: '{body}' },
      delivery_id: { field: 'order.id' },
      secret: acme,
      prompt: '{order.id}',
    },
  };
  home.write(
    'config.yaml',
    JSON.stringify({
      agent: { runner: 'echo' },
      platforms: { webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, public_url: publicUrl, routes } } },
    }),
  );
  const daemon = await startDaemon(t, home.path);
  const post = async (route: string, body: string, headers: Record<string, string>) => {
    const response = await fetch(`${daemon.url}/webhooks/${route}`, { method: 'POST', body, headers });
    return [response.status, ((await response.json()) as { status?: string }).status];
  };
  const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text);
  const byStripe = (body: string, secret: string, ageSeconds = 0) => {
    const time = Math.floor(Date.now() / 1_000) - ageSeconds;
    return { 'stripe-signature': `t=${time},v1=${hmac(secret, `${time}.${body}`).digest('hex')}` };
  };

  const paid = '{"id":"evt_1","type":"invoice.paid"}';
  t.same(await post('payments', paid, byStripe(paid, stripe)), [202, 'accepted']);
  t.same(await post('payments', paid, byStripe(paid, stripe, 10)), [200, 'duplicate'], 'a retry is signed anew');
  const refund = '{"id":"evt_2","type":"charge.refunded"}';
  t.same(await post('payments', refund, byStripe(refund, older)), [202, 'accepted'], 'by the older secret');
  t.same(await post('payments', refund, byStripe(refund, 'whsec_other')), [401, undefined]);
  t.same(await post('payments', paid, byStripe(paid, stripe, 400)), [401, undefined]);
  t.equal((await postSigned(`${daemon.url}/webhooks/payments`, { id: 'x' }, { secret: stripe })).status, 401);

  const sale = '{"event_id":"s1","type":"payment.created"}';
  const toSales = (path: string) => ({
    'x-square-hmacsha256-signature': hmac(square, `${publicUrl}${path}${sale}`).digest('base64'),
  });
  t.same(await post('sales?tenant=1', sale, toSales('/webhooks/sales')), [401, undefined], 'the query is signed too');
  t.same(await post('sales?tenant=1', sale, toSales('/webhooks/sales?tenant=1')), [202, 'accepted']);

  const order = '{"order":{"id":77}}';
  const byAcme = { 'X-Acme': `v=${hmac(acme, order).digest('hex')}` };
  t.same(await post('orders', order, byAcme), [202, 'accepted']);
  t.same(await post('orders', `${order} `, { 'X-Acme': `v=${hmac(acme, `${order} `).digest('hex')}` }), [
    200,
    'duplicate',
  ]);

  for (const route of Object.keys(routes)) {
    const { stdout, stderr } = await runCli(['webhook', 'test', route], home.path);
    t.match(stdout, /HTTP 202/, `${route}: ${stderr}`);
  }

  const rows = (await cliJson(home.path, 'webhook', 'deliveries')) as unknown as readonly Row[];
  const seen = rows.map(({ route, event, delivery_id, status }) => [route, event, delivery_id, status].join(' '));
  for (const row of ['payments invoice.paid evt_1', 'payments charge.refunded evt_2', 'sales payment.created s1']) {
    t.ok(
      seen.some((one) => one.startsWith(row)),
      row,
    );
  }
  t.ok(seen.some((one) => one.startsWith('orders unknown 77')));
  t.match(
    rows.find(({ status, route }) => status === 'refused' && route === 'payments')?.reason,
    /stripe-signature is missing|does not match|s are allowed/,
  );
  const { stdout } = await runCli(['inspect', 'why', 'evt_2'], home.path);
  t.match(stdout, /genuine by stripe \(secret 2\)/);
  t.notMatch(`${stdout}${JSON.stringify(daemon.log)}`, /whsec_/);
});
