/**
 * A fastify handler that checks the HMAC, parses the JSON and puts the event into a BullMQ queue on Redis before it answers, as
 * a process of its own. BullMQ is no dependency of the project: it lies where `npm run bench:peers` puts the peers.
 */

import { createRequire } from 'node:module';
import { fastify } from 'fastify';
import { isSigned } from './handler.ts';

interface Queue {
  add(name: string, data: unknown, options: { readonly jobId: string }): Promise<unknown>;
  waitUntilReady(): Promise<unknown>;
}

process.on('disconnect', () => process.exit(0));
const peers = createRequire(new URL('../../../.bench/peers/', import.meta.url));
const { Queue } = peers('bullmq') as { Queue: new (name: string, options: object) => Queue };
const queue = new Queue('events', { connection: { host: '127.0.0.1', port: Number(process.argv[2]) } });
const app = fastify();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
app.post('/webhooks/:name', async (request, reply) => {
  const body = request.body as Buffer;
  if (!isSigned(body, String(request.headers['x-hub-signature-256']))) return reply.code(401).send();
  // As the gateway claims the id of a delivery: a second job of one id is none.
  await queue.add('event', JSON.parse(body.toString()), { jobId: String(request.headers['x-github-delivery']) });
  return reply.code(202).send({ status: 'accepted' });
});
await queue.waitUntilReady();
await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: (app.server.address() as { port: number }).port });
