/**
 * One receiver to be measured, in a process of its own: bare handlers that check the HMAC and parse the JSON, or the
 * gateway itself. Says its port to its parent, and when asked its CPU time and what it allocates.
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type HeapProfiler, Session } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayStatus } from '../../runtime/control/contract/gateway.ts';
import { emptyYoungHeap } from '../support/collect-garbage.ts';
import { wait } from './daemon.ts';
import { genuine, secret } from './handler.ts';

/** Where the gateway is what is measured. */
const home = mkdtempSync(join(tmpdir(), 'agent-bench-'));
const answer = JSON.stringify({ status: 'accepted' });

async function bareUws(): Promise<number> {
  const { loadUws } = await import('../../runtime/http/native.ts');
  const uws = loadUws();
  return new Promise((resolve) => {
    const app = uws.App();
    app.post('/*', (res, req) => {
      const header = req.getHeader('x-hub-signature-256');
      const chunks: Buffer[] = [];
      res.onAborted(() => {});
      res.onData((chunk, isLast) => {
        chunks.push(Buffer.from(new Uint8Array(chunk.slice(0))));
        if (!isLast) return;
        const whole = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
        const ok = genuine(whole, header);
        res.cork(() => {
          res.writeStatus(ok ? '202 Accepted' : '401 Unauthorized');
          res.writeHeader('content-type', 'application/json');
          res.end(answer);
        });
      });
    });
    app.listen('127.0.0.1', 0, (socket) => {
      if (socket) resolve(uws.us_socket_local_port(socket));
    });
  });
}

function bareNode(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const ok = genuine(Buffer.concat(chunks), String(request.headers['x-hub-signature-256']));
        response.writeHead(ok ? 202 : 401, { 'content-type': 'application/json', 'content-length': answer.length });
        response.end(answer);
      });
    });
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

async function bareFastify(): Promise<number> {
  const { fastify } = await import('fastify');
  const app = fastify();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  app.post('/webhooks/:name', (request, reply) => {
    const ok = genuine(request.body as Buffer, String(request.headers['x-hub-signature-256']));
    return reply
      .code(ok ? 202 : 401)
      .type('application/json')
      .send(answer);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as { port: number }).port;
}

interface Wanted {
  readonly journal: string;
  readonly front: string;
  readonly routes: number;
  /** Whether the inspector's listener stands. */
  readonly inspector: boolean;
}

/** The gateway with every rule on: a filter, a template, a claim, a group and the journal. */
async function gateway({ journal, front, routes, inspector: looks }: Wanted): Promise<number> {
  const others = Array.from({ length: routes - 1 }, (_, index) => `        route-${index}: {prompt: "{id}"}\n`).join(
    '',
  );
  writeFileSync(
    join(home, 'config.yaml'),
    `inspector: {enabled: ${looks}, port: 0}\ngateway: {journal: ${journal}, front: ${front}}\n` +
      `platforms:\n  webhook:\n    enabled: true\n    extra:\n      host: 127.0.0.1\n      port: 0\n      secret: ${secret}\n      rate_limit: 1000000000\n` +
      `      routes:\n${others}        held:\n          events: [push]\n          filters: [{field: action, in: [opened, reopened]}]\n          prompt: "{repository.full_name} {action}"\n` +
      '          coalesce: {key: id, window_seconds: 3000, max_wait_seconds: 3000}\n' +
      '        run:\n          events: [push]\n          filters: [{field: action, in: [opened, reopened]}]\n          prompt: "{repository.full_name} {action}"\n',
  );
  const { runDaemon } = await import('../../runtime/daemon.ts');
  process.env.AGENT_LOG_LEVEL = 'info';
  void runDaemon({ home, env: process.env, version: 'bench' }).then((code) => process.exit(code));
  for (;;) {
    const url = (await statusOf())?.webhook?.url;
    if (typeof url === 'string') return Number(new URL(url).port);
    await wait(20);
  }
}

/** Resolves once no run and no delivery is alive. */
async function settled(): Promise<void> {
  for (;;) {
    const { agentRun = 0, delivery = 0 } = (await statusOf())?.actors ?? {};
    if (agentRun + delivery === 0) return;
    await wait(10);
  }
}

async function statusOf(): Promise<Partial<GatewayStatus> | undefined> {
  const { connectControl } = await import('../../runtime/control/client.ts');
  const client = await connectControl(`${home}/gateway.sock`);
  const status = (await client?.call('gateway.status')) as Partial<GatewayStatus> | undefined;
  client?.close();
  return status;
}

const [kind = '', ...words] = process.argv.slice(2);
const port = await start();
process.send?.({ port, home });
const inspector = new Session();
process.on('message', (asked: string) => {
  switch (asked) {
    case 'allocation.begin':
      sampleHeap({ includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true });
      return;
    case 'survival.begin':
      sampleHeap({ includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: false });
      return;
    case 'sampling.end':
      // The profile begins with a full collection, which would count the garbage of the last requests, up to a kilobyte each.
      emptyYoungHeap();
      inspector.post('HeapProfiler.stopSampling', (_, { profile }) => {
        inspector.disconnect();
        process.send?.({ bytes: bytesIn(profile.head) });
      });
      return;
    case 'settled':
      void settled().then(() => process.send?.({}));
      return;
    default: {
      const { user, system } = process.cpuUsage();
      process.send?.({ cpuMs: (user + system) / 1_000 });
    }
  }
});
process.on('disconnect', () => process.exit(0));

/** Which objects count beside those that live on; the types do not know the two flags yet. */
function sampleHeap(which: {
  readonly includeObjectsCollectedByMajorGC: boolean;
  readonly includeObjectsCollectedByMinorGC: boolean;
}): void {
  inspector.connect();
  inspector.post('HeapProfiler.startSampling', { ...which, samplingInterval: 8_192 }, () => process.send?.({}));
}

function bytesIn({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return selfSize + children.reduce((bytes, child) => bytes + bytesIn(child), 0);
}

function start(): Promise<number> {
  switch (kind) {
    case 'uws':
      return bareUws();
    case 'node':
      return bareNode();
    case 'fastify':
      return bareFastify();
    default:
      return gateway({
        journal: words[0] ?? 'memory',
        front: words[1] ?? 'auto',
        routes: Number(words[2] ?? 1),
        inspector: words[3] !== 'off',
      });
  }
}
