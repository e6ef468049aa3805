/**
 * Amazon SNS, here one that only a proxy can reach, asks a route to confirm its subscription while its own address is down;
 * Google, whose keys only the proxy can reach, sends with tokens.
 */

import { execFileSync } from 'node:child_process';
import { createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { listenHttp } from '../support/http-listener.ts';
import { cliJson, webhookConfig } from '../support/webhook-home.ts';

const host = 'sns.eu-central-1.amazonaws.com';
const certUrl = `https://${host}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`;
const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
const confirmUrl = `https://${host}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=t0ken`;

async function startSns(t: Test) {
  const folder = t.testdir();
  const pem = `${folder}/pem`;
  const key = `${folder}/key`;
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${host}`, '-days', '2'],
      ...['-addext', `subjectAltName=DNS:${host},DNS:www.googleapis.com`, '-keyout', key, '-out', pem],
    ],
    { stdio: 'ignore' },
  );
  const visits: number[] = [];
  /** What the next visits are answered; 200 after these. */
  const answers: number[] = [];
  let keysAsked = 0;
  const answer: RequestListener = ({ url = '' }, response) => {
    if (url === '/oauth2/v3/certs') {
      keysAsked += 1;
      const jwk = { ...createPublicKey(readFileSync(pem)).export({ format: 'jwk' }), kid: 'k1' };
      return void response.end(JSON.stringify({ keys: [jwk] }));
    }
    if (!url.startsWith('/?')) return void response.end(readFileSync(pem));
    const status = answers.shift() ?? 200;
    visits.push(status);
    response.writeHead(status).end('<ConfirmSubscriptionResponse/>');
  };
  const { port } = await listenHttp(t, answer, { tls: { cert: readFileSync(pem), key: readFileSync(key) } });
  const { url: proxy, server: front } = await listenHttp(t, async () => {});
  front.on('connect', (_, socket) => {
    const onward = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  });
  return {
    visits,
    answers,
    env: { HTTPS_PROXY: proxy, NO_PROXY: '', NODE_EXTRA_CA_CERTS: pem },
    keysAsked: () => keysAsked,
    token(claims: object, kid = 'k1'): string {
      const parts = [{ alg: 'RS256', kid }, claims].map((one) =>
        Buffer.from(JSON.stringify(one)).toString('base64url'),
      );
      const signature = sign('sha256', Buffer.from(parts.join('.')), readFileSync(key)).toString('base64url');
      return `${parts.join('.')}.${signature}`;
    },
    confirmation(): string {
      const message: Record<string, string> = {
        Message: 'You have chosen to subscribe.',
        MessageId: 'm1',
        SubscribeURL: confirmUrl,
        Timestamp: new Date().toISOString(),
        Token: 't0ken',
        TopicArn: topic,
        Type: 'SubscriptionConfirmation',
      };
      const text = Object.entries(message)
        .map(([name, value]) => `${name}\n${value}\n`)
        .join('');
      const Signature = sign('sha256', Buffer.from(text), readFileSync(key)).toString('base64');
      return JSON.stringify({ ...message, SignatureVersion: '2', SigningCertURL: certUrl, Signature });
    },
  };
}

t.test('SRC-3 · SNS is asked to repeat a confirmation until its address was visited', async (t) => {
  const sns = await startSns(t);
  const routes = `        alarms: {prompt: x, source: aws-sns, secret: "${topic}"}\n`;
  const home = makeHome(t, { 'config.yaml': webhookConfig(routes) });
  const daemon = await startDaemon(t, home.path, sns.env);
  const body = sns.confirmation();
  const post = async (): Promise<number> => {
    const headers = { 'content-type': 'text/plain; charset=UTF-8' };
    const response = await fetch(`${daemon.url}/webhooks/alarms`, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  };

  sns.answers.push(500);
  t.equal(await post(), 503, 'SNS repeats what is answered so');
  const why = `could not be confirmed at ${host}: HTTP 500; the sender repeats it`;
  t.match((await askCli(['webhook', 'deliveries'], home.path)).stdout, /refused +alarms/);
  t.match((await askCli(['inspect', 'why', 'latest'], home.path)).stdout, why);
  t.match((await askCli(['webhook', 'doctor', 'alarms'], home.path)).stdout, `It was not the signature: handshake: `);

  t.equal(await post(), 200);
  t.same(sns.visits, [500, 200]);
  t.match(
    (await askCli(['inspect', 'why', 'latest'], home.path)).stdout,
    /handshake: SubscriptionConfirmation, confirmed/,
  );
  t.notMatch(JSON.stringify(daemon.log), 't0ken');
});

t.test('SRC-1 · IDM-2 · a message of Google Pub/Sub is taken by its token, read, and known by its id', async (t) => {
  const google = await startSns(t);
  const account = 'push@my-project.iam.gserviceaccount.com';
  const routes = `        mail: {prompt: "{message.data.emailAddress} {message.data.historyId}", source: google-pubsub, secret: ${account}}\n`;
  const config = webhookConfig(routes).replace(
    '      routes:',
    '      public_url: https://hooks.example.com\n      routes:',
  );
  const home = makeHome(t, { 'config.yaml': config });
  const daemon = await startDaemon(t, home.path, google.env);
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ iss: 'https://accounts.google.com', aud: 'https://hooks.example.com/webhooks/mail' },
    ...{ email: account, email_verified: true, iat: seconds, exp: seconds + 3_600 },
  };
  const tokens: string[] = [];
  const post = async (messageId: string, token: string): Promise<number> => {
    tokens.push(token);
    const data = Buffer.from('{"emailAddress":"ada@example.com","historyId":98}').toString('base64');
    const body = JSON.stringify({ message: { data, messageId }, subscription: 'projects/p/subscriptions/s' });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${daemon.url}/webhooks/mail`, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  };

  t.equal(await post('m1', google.token({ ...claims, email: 'evil@evil.iam.gserviceaccount.com' })), 401);
  t.equal(google.keysAsked(), 0, 'no key is fetched for what cannot be genuine');
  t.equal(await post('m1', google.token(claims)), 202);
  t.equal(await post('m1', google.token({ ...claims, iat: seconds - 1 })), 200, 'sent again with another token');
  t.equal(await post('m2', google.token(claims, 'k2')), 401);
  t.equal(google.keysAsked(), 1, 'not at once again');
  t.match(await cliJson(home.path, 'events', 'show', 'm1'), { record: { prompt: 'ada@example.com 98' } });
  const shown = await askCli(['webhook', 'doctor', 'mail'], home.path);
  t.match(shown.stdout, 'Its token is of another service account. The route’s secret must be the email');
  const seen = JSON.stringify([daemon.log, shown, await cliJson(home.path, 'events', 'list')]);
  for (const part of tokens.flatMap((token) => token.split('.').slice(1)))
    t.notOk(seen.includes(part), 'no token is shown');
});
