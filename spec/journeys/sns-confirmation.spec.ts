/** Amazon SNS, here one that only a proxy can reach, asks a route to confirm its subscription while its own address is down. */

import { execFileSync } from 'node:child_process';
import { sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { listenHttp } from '../support/http-listener.ts';
import { webhookConfig } from '../support/webhook-home.ts';

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
      ...['-addext', `subjectAltName=DNS:${host}`, '-keyout', key, '-out', pem],
    ],
    { stdio: 'ignore' },
  );
  const visits: number[] = [];
  /** What the next visits are answered; 200 after these. */
  const answers: number[] = [];
  const answer: RequestListener = ({ url = '' }, response) => {
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
