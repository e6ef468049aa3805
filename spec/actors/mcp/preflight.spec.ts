import t from 'tap';
import { preflight } from '../../../actors/mcp/preflight.ts';

interface Answer {
  readonly status: number;
  readonly type?: string;
}

/** A fetch that answers by method, and notes what it was asked. */
function answering(answers: Readonly<Record<string, Answer>>, asked: string[] = []): typeof fetch {
  return (async (_url, init) => {
    asked.push(init?.method ?? '');
    const { status, type } = answers[init?.method ?? ''] ?? { status: 500 };
    return new Response(null, { status, headers: type === undefined ? {} : { 'content-type': type } });
  }) as typeof fetch;
}

t.test('ERA-3 · only a web page that answers well is no MCP endpoint', async (t) => {
  for (const [answers, kind] of [
    [{ HEAD: { status: 200, type: 'text/html' } }, 'notMcp'],
    [{ HEAD: { status: 200, type: 'TEXT/HTML; charset=utf-8' } }, 'notMcp'],
    [{ HEAD: { status: 200, type: 'application/xhtml+xml' } }, 'notMcp'],
    [{ HEAD: { status: 405 }, GET: { status: 200, type: 'text/html' } }, 'notMcp'],
    [{ HEAD: { status: 501 }, GET: { status: 200, type: 'text/html' } }, 'notMcp'],
    [{ HEAD: { status: 405 }, GET: { status: 405, type: 'text/html' } }, 'mcp'],
    [{ HEAD: { status: 405 }, GET: { status: 200, type: 'text/event-stream' } }, 'mcp'],
    [{ HEAD: { status: 401, type: 'text/html' } }, 'mcp'],
    [{ HEAD: { status: 403, type: 'text/html' } }, 'mcp'],
    [{ HEAD: { status: 404, type: 'text/html' } }, 'mcp'],
    [{ HEAD: { status: 200, type: 'application/json' } }, 'mcp'],
    [{ HEAD: { status: 200, type: 'text/plain' } }, 'mcp'],
    [{ HEAD: { status: 200, type: 'text/htmlx' } }, 'mcp'],
    [{ HEAD: { status: 200 } }, 'mcp'],
    [{ HEAD: { status: 503 } }, 'mcp'],
  ] as const) {
    const verdict = await preflight({ url: 'http://x.test', fetch: answering(answers) });
    t.equal(verdict.kind, kind, JSON.stringify(answers));
  }
});

t.test('ERA-3 · GET is asked only where HEAD is not known', async (t) => {
  const asked: string[] = [];
  await preflight({ url: 'http://x.test', fetch: answering({ HEAD: { status: 404 } }, asked) });
  t.same(asked, ['HEAD']);
});

t.test('ERA-3 · an endpoint that fails or is silent is left to the handshake', async (t) => {
  const silent: typeof fetch = async (_url, init) => {
    const { signal } = init ?? {};
    signal?.throwIfAborted();
    return new Promise<Response>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  // The signal's timer alone keeps no process alive.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  t.same(await preflight({ url: 'http://x.test', fetch: silent, timeoutMs: 10 }), { kind: 'mcp' });
  t.same(await preflight({ url: 'http://x.test', fetch: silent, signal: AbortSignal.abort() }), { kind: 'mcp' });
  const failing = (() => Promise.reject(new TypeError('fetch failed'))) as typeof fetch;
  t.same(await preflight({ url: 'http://x.test', fetch: failing }), { kind: 'mcp' });
});
