/**
 * A hono handler that checks the HMAC and parses the JSON, as a process of its own. hono is no dependency of the project: it
 * is measured where another package has brought it, and said to be missing elsewhere.
 */

import { genuine } from './handler.ts';

interface Context {
  readonly req: { header(name: string): string | undefined; arrayBuffer(): Promise<ArrayBuffer> };
  json(value: object, status: number): Response;
}

interface App {
  post(path: string, handler: (context: Context) => Promise<Response>): void;
  readonly fetch: unknown;
}

interface Modules {
  readonly Hono: new () => App;
  readonly serve: (options: object, listening: (address: { readonly port: number }) => void) => void;
}

process.on('disconnect', () => process.exit(0));
const modules = await load();
if (modules === undefined) process.send?.({ missing: 'hono and @hono/node-server are not installed' });
else {
  const app = new modules.Hono();
  app.post('/webhooks/:name', async (context) => {
    const ok = genuine(Buffer.from(await context.req.arrayBuffer()), context.req.header('x-hub-signature-256') ?? '');
    return context.json({ status: 'accepted' }, ok ? 202 : 401);
  });
  modules.serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.({ port }));
}

async function load(): Promise<Modules | undefined> {
  // Names that the compiler must not look for.
  const names: readonly string[] = ['hono', '@hono/node-server'];
  try {
    const [hono, server] = await Promise.all(names.map((name) => import(name)));
    return { Hono: hono.Hono, serve: server.serve };
  } catch {
    return undefined;
  }
}
