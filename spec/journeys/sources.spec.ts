/** Requests as their providers sign them, to a real gateway: taken once, and by their own scheme alone. */

import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import t from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
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

/** Writes a home whose routes run the echo. */
function configure(home: TestHome, extra: Readonly<Record<string, unknown>>): void {
  const webhook = { enabled: true, extra: { host: '127.0.0.1', port: 0, ...extra } };
  home.write('config.yaml', JSON.stringify({ agent: { runner: 'echo' }, platforms: { webhook } }));
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
    plain: { secret: 'q8Zr4Lk2Wm7Tn1Bd9Xplain', prompt: '{id}' },
  };
  configure(home, { public_url: publicUrl, routes });
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
    const { stdout, stderr } = await askCli(['webhook', 'test', route], home.path);
    t.match(stdout, /HTTP 202/, `${route}: ${stderr}`);
  }

  for (const [route, sample] of [
    ['payments', 'stripe:checkout.session.completed'],
    ['payments', 'invoice.paid'],
    ['orders', 'github:push'],
    ['orders', 'twilio:received'],
    ['plain', 'stripe:invoice.paid'],
  ] as const) {
    const { stdout, stderr } = await askCli(['webhook', 'test', route, '--sample', sample], home.path);
    t.match(stdout, /HTTP 202/, `${route}, ${sample}: ${stderr}`);
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
  const { stdout } = await askCli(['inspect', 'why', 'evt_2'], home.path);
  t.match(stdout, /genuine by stripe \(secret 2\)/);
  t.notMatch(`${stdout}${JSON.stringify(daemon.log)}`, /whsec_/);
});

t.test(
  'SRC-1 · SRC-4 · SEC-6 · IDM-2 · what some providers alone send: equal bodies, none, data, associations',
  async (t) => {
    const home = makeHome(t);
    const secret = 'a-secret-of-the-sender-0123';
    const routes = {
      shop: { source: 'shopify', secret, events: ['orders/create', 'orders/paid'] },
      paid: { source: 'shopify', secret, events: ['orders/paid'] },
      issues: { source: 'sentry', secret },
      crm: { source: 'hubspot', secret },
      ce: { source: 'cloudevents', secret },
    };
    configure(home, { public_url: publicUrl, routes });
    const daemon = await startDaemon(t, home.path);
    const post = async (route: string, body: string, headers: Record<string, string>) => {
      const response = await fetch(`${daemon.url}/webhooks/${route}`, { method: 'POST', body, headers });
      const { status, accepted, duplicate } = (await response.json()) as Record<string, unknown>;
      return [response.status, status, ...(accepted === undefined ? [] : [accepted, duplicate])];
    };
    const seal = (text: string, encoding: 'hex' | 'base64') =>
      createHmac('sha256', secret).update(text).digest(encoding);

    const order = '{"id":820982911946154500,"total_price":"54.00"}';
    const shop = (topic: string, id: string) => ({
      'x-shopify-topic': topic,
      'x-shopify-webhook-id': id,
      'x-shopify-hmac-sha256': seal(order, 'base64'),
    });
    t.same(await post('shop', order, shop('orders/create', 'w1')), [202, 'accepted']);
    t.same(
      await post('shop', order, shop('orders/paid', 'w2')),
      [202, 'accepted'],
      'the same order under another topic',
    );
    t.same(
      await post('shop', order, shop('orders/paid', 'w3')),
      [200, 'duplicate'],
      'captured, under an id of its own',
    );
    t.same(await post('paid', order, shop('orders/paid', 'w3')), [200, 'duplicate'], 'and at another route');

    const sentry = {
      'sentry-hook-resource': 'installation',
      'request-id': 's1',
      'sentry-hook-signature': seal('', 'hex'),
    };
    t.same(await post('issues', '', sentry), [202, 'accepted'], 'signed as empty');
    const replayed = await askCli(['events', 'replay', 's1'], home.path);
    t.match(replayed, { code: 0, stdout: /HTTP 202/ }, 'and replayed (DUR-2)');
    t.same(await post('issues', '', { ...sentry, 'sentry-hook-signature': seal(' ', 'hex') }), [401, undefined]);

    const change = { subscriptionType: 'contact.associationChange', subscriptionId: 1, eventId: 2, occurredAt: 3 };
    const crm = (attemptNumber: number, toObjectId: number) => {
      const body = JSON.stringify([{ ...change, fromObjectId: 4, toObjectId, attemptNumber }]);
      const time = String(Date.now());
      const signature = seal(`POST${publicUrl}/webhooks/crm${body}${time}`, 'base64');
      return post('crm', body, { 'x-hubspot-request-timestamp': time, 'x-hubspot-signature-v3': signature });
    };
    t.same(await crm(0, 5), [202, 'accepted', 1, 0]);
    t.same(await crm(1, 5), [200, 'duplicate', 0, 1], 'a retry is signed anew');
    t.same(await crm(0, 6), [202, 'accepted', 1, 0]);

    const ce = { authorization: `Bearer ${secret}`, 'ce-id': '1', 'ce-source': '/s', 'ce-type': 'a.b' };
    t.same(await post('ce', '[{"a":1},{"a":2}]', ce), [202, 'accepted'], 'data is one event');
    t.same(await post('ce', '<a/>', { ...ce, 'ce-id': '2', 'content-type': 'application/xml' }), [202, 'accepted']);
  },
);

t.test(
  'SRC-3 · handshakes are answered as providers want it, beside a full window, and are in the history',
  async (t) => {
    const slack = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
    const zoom = 'zoom-q8Zr4Lk2Wm7Tn1';
    const discord = generateKeyPairSync('ed25519');
    const discordKey = discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
    const home = makeHome(t, { '.env': 'META_TOKEN=meta-verifies-by-this\n' });
    const routes = {
      slack: { source: 'slack', secret: slack },
      zoom: { source: 'zoom', secret: zoom },
      discord: { source: 'discord', secret: discordKey },
      joins: { source: 'discord-events', secret: discordKey },
      line: { source: 'line', secret: slack },
      xero: { source: 'xero', secret: slack },
      shop: { source: 'woocommerce', secret: slack },
      meta: { source: 'meta', secret: slack, verify_token: '${META_TOKEN}' },
    };
    configure(home, { rate_limit: 1, routes });
    const daemon = await startDaemon(t, home.path);
    const ask = async (path: string, body?: string, headers: Record<string, string> = {}) => {
      const init = body === undefined ? {} : { method: 'POST', body };
      const response = await fetch(`${daemon.url}/webhooks/${path}`, { ...init, headers });
      return [response.status, await response.text(), response.headers.get('content-type')];
    };
    const json = 'application/json';
    const time = String(Math.floor(Date.now() / 1_000));
    const versioned = (secret: string, body: string): string =>
      `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
    const toSlack = (body: string) =>
      ask('slack', body, { 'x-slack-request-timestamp': time, 'x-slack-signature': versioned(slack, body) });

    t.same(
      await toSlack('{"type":"event_callback","event_id":"1"}'),
      [200, '', 'text/plain; charset=utf-8'],
      'Slack would show a text to the author of a command',
    );
    // The minute may turn between two requests; it does not turn twice in a row.
    const untilFull = async (bodyOf: (count: number) => string): Promise<number> => {
      for (let count = 1; ; count += 1) if ((await toSlack(bodyOf(count)))[0] === 429) return count;
    };
    t.ok((await untilFull((count) => `{"type":"event_callback","event_id":"a${count}"}`)) <= 2, 'the window is full');
    t.same(await toSlack('{"type":"url_verification","challenge":"c1"}'), [200, '{"challenge":"c1"}', json]);
    t.match(
      await ask('slack', '{"type":"url_verification","challenge":"c1"}', {
        'x-slack-request-timestamp': time,
        'x-slack-signature': versioned('another', '{"type":"url_verification","challenge":"c1"}'),
      }),
      [401, '{"error":"Invalid signature"}'],
      'not for anybody',
    );
    const handshakes = await untilFull((count) => `{"type":"url_verification","challenge":"${count}"}`);
    t.ok(handshakes > 9 && handshakes <= 20, `the allowance is ten a minute: ${handshakes}`);

    const validation = '{"event":"endpoint.url_validation","payload":{"plainToken":"p1"}}';
    const encryptedToken = createHmac('sha256', zoom).update('p1').digest('hex');
    t.same(
      await ask('zoom', validation, { 'x-zm-request-timestamp': time, 'x-zm-signature': versioned(zoom, validation) }),
      [200, JSON.stringify({ plainToken: 'p1', encryptedToken }), json],
    );

    const byDiscord = (body: string) => ({
      'x-signature-timestamp': time,
      'x-signature-ed25519': sign(null, Buffer.from(time + body), discord.privateKey).toString('hex'),
    });
    t.same(await ask('discord', '{"type":1}', byDiscord('{"type":1}')), [200, '{"type":1}', json]);
    t.match(await ask('discord', '{"type":1}', byDiscord('{"type":2}')), [401], 'Discord tries a wrong one');
    const command = '{"id":"7","type":2,"data":{"name":"deploy"}}';
    t.match(await ask('discord', command, byDiscord(command)), [200, /"type":4/], 'in the words that Discord knows');

    const joined = '{"type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2026-01-15T09:30:00Z"}}';
    for (const body of ['{"type":0}', joined]) t.match(await ask('joins', body, byDiscord(body)), [204, '']);
    const sealed = (body: string) => createHmac('sha256', slack).update(body).digest('base64');
    const verify = '{"destination":"U1","events":[]}';
    const byLine = { 'x-line-signature': sealed(verify) };
    t.match(await ask('line', verify, byLine), [200, /"ignored":0/], 'its console wants 200 without an event');
    const intent = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"S0m3"}';
    t.match(await ask('xero', intent, { 'x-xero-signature': sealed('other') }), [401, ''], 'it tries a wrong one too');
    t.match(await ask('xero', intent, { 'x-xero-signature': sealed(intent) }), [200, ''], 'it wants no body');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    t.match(await ask('shop', 'webhook_id=1', form), [200], 'it tests an address without a signature');
    t.match(await ask('shop', 'webhook_id=1&total=2', form), [401]);
    t.match(await ask('shop', '{"id":7}', { 'x-wc-webhook-signature': sealed('{"id":7}') }), [202]);

    const hub = (token: string): string =>
      `meta?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=${encodeURIComponent('<b>1</b>')}`;
    t.same(await ask(hub('meta-verifies-by-this')), [200, '<b>1</b>', 'text/plain; charset=utf-8']);
    t.match(await ask(hub('another')), [403]);
    for (let count = 0; count < 20; count += 1) t.match(await ask('meta?hub.mode=subscribe'), [403]);
    t.match(await ask(hub('meta-verifies-by-this')), [200], 'wrong ones use nothing up');
    t.match(await ask('slack?hub.mode=subscribe'), [405], 'no other route takes GET');

    const rows = (await cliJson(home.path, 'webhook', 'deliveries')) as unknown as readonly Row[];
    const reasons = rows.map(({ route, status, reason }) => `${route} ${status} ${reason}`);
    for (const row of [
      'slack ignored handshake: url_verification',
      'zoom ignored handshake: endpoint.url_validation',
      'discord ignored handshake: PING',
      'joins ignored handshake: PING',
      'shop ignored handshake: ping',
      'meta ignored handshake: hub.challenge',
      'meta refused handshake: hub.challenge with a wrong verify_token',
    ]) {
      t.ok(reasons.includes(row), row);
    }
    t.notMatch(JSON.stringify([rows, daemon.log]), /meta-verifies-by-this|0f1e2d3c4b5a/);
  },
);

t.test(
  'SUB-4 · a test event that only its provider can sign is handed in as the owner’s, and the history shows it',
  async (t) => {
    const discord = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(12);
    const sendgrid = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
    const home = makeHome(t);
    const routes = {
      bot: { source: 'discord', secret: discord.toString('hex'), prompt: '{data.name}', events: ['deploy'] },
      mail: {
        source: 'sendgrid',
        secret: sendgrid.export({ format: 'der', type: 'spki' }).toString('base64'),
        prompt: '{email} {event}',
      },
      sales: {
        source: 'paypal',
        secret: '9XL90610J3647323C',
        filters: [{ field: 'payload.resource.status', equals: 'DECLINED' }],
      },
      sns: {
        source: 'aws-sns',
        secret: 'arn:aws:sns:eu-central-1:123456789012:alarms',
        prompt: '{Message.AlarmName} {Timestamp}',
      },
      acme: { signature: { header: 'X-Acme', algorithm: 'ed25519' }, secret: discord.toString('hex'), prompt: '{n}' },
      linked: { signature: { query: 'token', algorithm: 'token' }, secret: 'a token of the address', prompt: '{n}' },
    };
    configure(home, { rate_limit: 1, routes });
    const daemon = await startDaemon(t, home.path);
    const test = async (...words: string[]) => {
      const { code, stdout, stderr } = await askCli(['webhook', 'test', ...words], home.path);
      return `${code} ${stdout}${stderr}`;
    };
    const rows = async () => (await cliJson(home.path, 'webhook', 'deliveries')) as readonly (Row & { key: string })[];

    const checked = await test('bot', '--sample', 'discord:deploy', '--checks-only');
    t.match(
      checked,
      /^0 HTTP 202\n.*"accepted".*\nOnly Discord \(interactions\) can sign this event, so it was handed in without/,
    );
    t.match(
      await test('bot', '--sample', 'approve', '--checks-only'),
      '"ignored"',
      'the rules after the signature hold',
    );
    t.same(await rows(), []);

    for (const [route, sample, answer] of [
      ['bot', 'deploy', /^0 HTTP 202\n.*"accepted"/],
      ['mail', 'delivered', /^0 HTTP 202\n.*"accepted":1/],
      ['mail', 'bounce', /^0 HTTP 202\n.*"accepted":1/],
      ['sales', 'PAYMENT.CAPTURE.COMPLETED', /^0 HTTP 200\n.*"ignored"/],
      ['sales', 'PAYMENT.CAPTURE.DENIED', /^0 HTTP 202\n.*"accepted"/],
      ['sns', 'Notification', /^0 HTTP 202\n.*"accepted"/],
      ['sns', 'UnsubscribeConfirmation', /^0 HTTP 200\n\{\}/],
    ] as const) {
      t.match(await test(route, '--sample', sample), answer, `${route} ${sample}`);
    }
    t.match(await test('acme', '--payload', '{"n":1}'), /^0 HTTP 202\n.*\nOnly the sender can sign this event/);
    t.equal((await fetch(`${daemon.url}/webhooks/bot`, { method: 'POST', body: '{"id":"9"}' })).status, 401);
    const linked = async (query: string) =>
      (await fetch(`${daemon.url}/webhooks/linked${query}`, { method: 'POST', body: '{"n":2}' })).status;
    t.same(
      [await linked(''), await linked('?token=b'), await linked('?a&token=a+token+of%20the%20address')],
      [401, 401, 202],
    );

    const seen = await rows();
    const words = 'handed in without its signature by the command line';
    for (const [route, event] of [
      ['bot', 'deploy'],
      ['mail', 'bounce'],
      ['sales', 'PAYMENT.CAPTURE.DENIED'],
      ['sns', 'Notification'],
    ] as const) {
      t.match(
        seen.find((row) => row.route === route && row.event === event),
        { reason: words },
        route,
      );
    }
    const bounced = seen.find(({ event }) => event === 'bounce')?.key ?? '';
    const { stdout } = await askCli(['inspect', 'why', bounced], home.path);
    t.match(stdout, new RegExp(`verifying.*${words}`));
    t.notMatch(stdout, 'genuine');
    const sns = seen.find(({ event }) => event === 'Notification')?.key ?? '';
    t.match(await cliJson(home.path, 'events', 'show', sns), { record: { prompt: /^high-latency \d{4}-\d\d-\d\dT/ } });
  },
);

t.test('SRC-4 · SEC-6 · an array is split into events that are accepted together, or kept whole', async (t) => {
  const home = makeHome(t);
  const signature = { header: 'X-Acme', signed: '{body}' };
  const each = {
    signature,
    secret: acme,
    body: 'each',
    delivery_id: { field: 'id' },
    events: ['a', 'b'],
    prompt: 'n={id}',
  };
  const routes = {
    each,
    raw: { signature, secret: older, body: 'raw', prompt: '{items.1.id}' },
    object: { signature, secret: square },
  };
  configure(home, { rate_limit: 100, routes });
  const daemon = await startDaemon(t, home.path);
  const post = async (route: string, secret: string, body: string) => {
    const headers = { 'X-Acme': createHmac('sha256', secret).update(body).digest('hex') };
    const response = await fetch(`${daemon.url}/webhooks/${route}`, { method: 'POST', body, headers });
    return [response.status, await response.json()];
  };
  const body = JSON.stringify([
    { id: 'i1', type: 'a' },
    { id: 'i2', type: 'b' },
    { id: 'i1', type: 'a' },
    { id: 'i3', type: 'other' },
    { type: 'b' },
  ]);
  const first = { status: 'accepted', accepted: 3, duplicate: 1, ignored: 1 };
  t.same(await post('each', acme, body), [202, first]);
  t.same(
    await post('each', acme, body),
    [200, { status: 'duplicate', accepted: 0, duplicate: 4, ignored: 1 }],
    'captured or repeated, it runs nothing',
  );
  const again = `${body.slice(0, -1)},{"id":"i4","type":"a"}]`;
  t.match(
    await post('each', acme, again),
    [202, { accepted: 2, duplicate: 3, ignored: 1 }],
    'i4, and the one without an id',
  );
  t.same(await post('each', acme, '[{"id":"i1","type":"a"}]'), [
    200,
    { status: 'duplicate', accepted: 0, duplicate: 1, ignored: 0 },
  ]);
  t.match(await post('each', acme, '[{"id":"i9","type":"a"},7]'), [400]);
  t.match(await post('raw', older, '[{"id":1},{"id":2}]'), [202, { status: 'accepted' }]);
  t.match(await post('object', square, '[{"id":1}]'), [400, { error: 'Cannot parse body' }]);

  const many = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => ({ id: `m${index}`, type: 'a' })));
  t.match(await post('each', acme, many), [202, { accepted: 10_000 }]);
  const more = `${many.slice(0, -1)},{}]`;
  t.same(await post('each', acme, more), [
    413,
    { error: 'Payload too large: the body has 10001 events; at most 10000 are taken' },
  ]);

  const rows = (await cliJson(home.path, 'webhook', 'deliveries', '--route', 'raw')) as unknown as readonly Row[];
  t.equal(rows.length, 1);
  const refused = (await cliJson(
    home.path,
    'webhook',
    'deliveries',
    '--status',
    'refused',
  )) as unknown as readonly Row[];
  for (const reason of ['item 2 of the body is not an object', /at most 10000/, /set body: each/]) {
    t.ok(
      refused.some((row) => (typeof reason === 'string' ? row.reason === reason : reason.test(row.reason ?? ''))),
      String(reason),
    );
  }
});

t.test(
  'SRC-1 · SRC-3 · tokens, forms and public addresses: Graph, Event Grid, CloudEvents, Notion, Twilio',
  async (t) => {
    const home = makeHome(t);
    const twilio = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
    const routes = {
      graph: { source: 'microsoft-graph', verify_token: square, prompt: '{changeType}' },
      grid: { source: 'azure-event-grid', secret: acme },
      cloud: { source: 'cloudevents', secret: older.slice(6) },
      notion: { source: 'notion', secret: 'until-notion-has-sent-its-own' },
      done: { source: 'notion', secret: 'secret_q8Zr4Lk2Wm7Tn1Bd9XHd3J' },
      texts: { source: 'twilio', secret: twilio },
      mail: { source: 'mailgun', secret: acme, prompt: '{subject}' },
    };
    configure(home, { rate_limit: 4, public_url: publicUrl, routes });
    const daemon = await startDaemon(t, home.path);
    const ask = async (path: string, { method = 'POST', body, headers = {} }: Ask = {}) => {
      const init = body === undefined ? {} : { body };
      const response = await fetch(`${daemon.url}/webhooks/${path}`, { method, headers, ...init });
      return {
        status: response.status,
        text: await response.text(),
        type: response.headers.get('content-type'),
        leave: response.headers.get('webhook-allowed-origin'),
      };
    };

    t.match(await ask('graph?validationToken=a%20token%3Cb%3E'), {
      status: 200,
      text: 'a token<b>',
      type: 'text/plain; charset=utf-8',
    });
    const change = (clientState: string, id = 'g1') =>
      ask('graph', { body: JSON.stringify({ value: [{ id, clientState, changeType: 'updated' }] }) });
    t.match(await change(square), { status: 202 });
    t.match(await change(square), { status: 200, text: /"duplicate":1/ });
    t.match(await change('another'), { status: 401 });

    const validation = (code: string, key: string) =>
      ask(`grid?code=${key}`, {
        body: JSON.stringify([
          { id: '1', eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent', data: { validationCode: code } },
        ]),
      });
    t.match(await validation('c-1', acme), { status: 200, text: '{"validationResponse":"c-1"}' });
    t.match(await validation('c-1', 'another'), { status: 401 });
    const leave = { method: 'OPTIONS', headers: { 'webhook-request-origin': 'eventgrid.azure.net' } };
    t.match(await ask(`grid?code=${acme}`, leave), { status: 200, leave: 'eventgrid.azure.net' });
    t.match(await ask('grid?code=another', leave), { status: 401, leave: null });
    const made = '[{"id":"e1","eventType":"A.Made","data":{}},{"id":"e2","eventType":"A.Gone","data":{}}]';
    t.match(await ask(`grid?code=${acme}`, { body: made }), { status: 202, text: /"accepted":2/ });
    t.match(await ask('grid', { body: made }), { status: 401 });

    t.match(await ask('cloud', leave), { status: 200, leave: 'eventgrid.azure.net' });
    t.match(await ask('cloud', { method: 'OPTIONS' }), { status: 405 });
    const headers = { authorization: `Bearer ${older.slice(6)}` };
    const event = '{"specversion":"1.0","id":"1","source":"/a","type":"made"}';
    t.match(await ask('cloud', { body: event, headers }), {
      status: 202,
      text: /"event":"made","delivery_id":"\/a 1"/,
    });
    t.match(await ask('cloud', { body: `[${event}]`, headers }), { status: 200, text: /"duplicate":1/ });

    const token = '{"verification_token":"secret_of-notion-which-it-sends-first"}';
    t.match(await ask('notion', { body: token }), { status: 200 });
    t.match(await ask('notion', { body: '{"type":"page.created"}' }), { status: 401 });
    t.match(await ask('done', { body: token }), { status: 401 }, 'a route that has its token takes no other');

    const form = 'MessageSid=SM1&Body=hi+there&SmsStatus=received';
    const signed = createHmac('sha1', twilio)
      .update(`${publicUrl}/webhooks/textsBodyhi thereMessageSidSM1SmsStatusreceived`)
      .digest('base64');
    const byTwilio = { 'x-twilio-signature': signed, 'content-type': 'application/x-www-form-urlencoded' };
    t.match(await ask('texts', { body: form, headers: byTwilio }), {
      status: 200,
      text: '<Response></Response>',
      type: 'text/xml; charset=utf-8',
    });
    t.match(await ask('texts', { body: form.replace('hi', 'ho'), headers: byTwilio }), { status: 401 });

    const mail = new FormData();
    const stamp = { timestamp: `${Math.floor(Date.now() / 1_000)}`, token: 'm1' };
    const signature = createHmac('sha256', acme).update(stamp.timestamp).update(stamp.token).digest('hex');
    for (const [name, value] of Object.entries({ subject: 'An invoice', ...stamp, signature }))
      mail.append(name, value);
    mail.append('attachment-1', new Blob([new Uint8Array([0xff, 0])], { type: 'image/png' }), 'bill.png');
    t.match(await ask('mail', { body: mail }), { status: 200, text: /"accepted"/ });
    t.match(await ask('mail', { body: mail }), { status: 200, text: /"duplicate"/ });
    t.match(await askCli(['events', 'replay', 'm1'], home.path), { stdout: /HTTP 200\n.*"accepted"/ });
    const { stdout: kept } = await askCli(['events', 'show', 'latest', '--route', 'mail'], home.path);
    t.match(kept, '"subject":"An invoice"');
    t.match(kept, '"attachment-1":{"name":"bill.png","type":"image/png","size":2}', 'a file without its bytes');
    mail.set('token', 'm2');
    t.match(await ask('mail', { body: mail }), { status: 401 });

    for (const route of ['graph', 'grid', 'cloud', 'texts']) {
      const { stdout, stderr } = await askCli(['webhook', 'test', route], home.path);
      t.match(stdout, /HTTP 20[02]/, `${route}: ${stderr}`);
    }
    const rows = (await cliJson(home.path, 'webhook', 'deliveries', '--limit', '100')) as unknown as readonly (Row & {
      readonly key: string;
    })[];
    const reasons = rows.map(({ route, status, reason }) => `${route} ${status} ${reason}`);
    for (const row of [
      'graph ignored handshake: validationToken',
      'grid ignored handshake: Microsoft.EventGrid.SubscriptionValidationEvent',
      'grid ignored handshake: WebHook-Request-Origin',
      'grid refused handshake: WebHook-Request-Origin with a wrong code',
      'cloud ignored handshake: WebHook-Request-Origin',
    ]) {
      t.ok(reasons.includes(row), row);
    }
    const asked = rows.find(({ route, status }) => route === 'notion' && status === 'ignored');
    t.match(asked?.reason, /^handshake: verification_token/);
    const { stdout } = await askCli(['webhook', 'deliveries', asked?.key ?? ''], home.path);
    t.match(stdout, /secret_of-notion-which-it-sends-first/, 'the person needs it');
    const { stdout: graph } = await askCli(['webhook', 'deliveries', 'g1'], home.path);
    t.match(graph, /updated/);
    const text = rows.find(({ delivery_id: id }) => id === 'SM1 received');
    t.match((await askCli(['events', 'show', text?.key ?? ''], home.path)).stdout, /Payload\n {2}\{"MessageSid":"SM1"/);
    const everything = `${JSON.stringify([rows, daemon.log])}${graph}`;
    for (const secret of [square, acme, older.slice(6), twilio, 'secret_of-notion']) t.notMatch(everything, secret);
  },
);

interface Ask {
  readonly method?: string;
  readonly body?: string | FormData;
  readonly headers?: Record<string, string>;
}
