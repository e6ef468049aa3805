/** Scenes for the page in a real browser: a gateway with one route, an event of it, and answers that are not the daemon's. */

import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { type Answer, goTo, openInspector, options } from './browser.ts';
import { type Gateway, startGateway } from './mcp/gateway.ts';
import { adapterOf, send } from './webhook-adapter.ts';

export { options };

/** A gateway that shows its page, and answers events by itself. */
export const config = { inspector: { port: 0 }, agent: { runner: 'echo' } };

/** Answers with the daemon's own result, changed by this. */
export function changedBy(change: object): Answer {
  return async (_, own) => ({ ...((await own()) as object), ...change });
}

/** A route whose filter wants an `action`, and the inspector at a port. */
export function configOf(port = 0, prompt = 'Review'): JsonObject {
  const routes = { reviews: { filters: [{ field: 'action', equals: 'opened' }], prompt, deliver: 'log' } };
  return { ...config, inspector: { port }, platforms: { webhook: adapterOf(routes, { rate_limit: 10_000 }) } };
}

/** A gateway, and its page. */
export async function opened(t: Test, config = configOf()) {
  const gateway = await startGateway(t, {}, { config });
  return { gateway, ...(await openInspector(t, gateway)) };
}

export function sendReview(gateway: Gateway, id: string, payload: JsonObject = { action: 'opened' }) {
  return send(gateway, 'reviews', payload, id);
}

/** An event, opened. */
export async function openedEvent(t: Test) {
  const { gateway, page } = await opened(t);
  await sendReview(gateway, 'one');
  await goTo(page, '#/events/one');
  await page.getByRole('heading', { level: 2, name: 'reviews' }).waitFor();
  return { gateway, page };
}

export async function killed({ daemon }: Gateway): Promise<void> {
  await daemon.kill('SIGKILL');
}

/** Lets a page write into the stream that it reads, by `write`; `snapshot` is what it read there before any change. */
export const writesStream = `
  const real = fetch;
  globalThis.fetch = async (...asked) => {
    const response = await real(...asked);
    if (asked[0] !== './stream') return response;
    const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const stream = new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder();
        globalThis.snapshot = '';
        globalThis.write = (text) => controller.enqueue(encoder.encode(text));
        const read = async () => {
          for (;;) {
            const { value, done } = await texts.read();
            if (done) return controller.close();
            snapshot += /event: delta|event: health/.test(value) ? '' : value;
            write(value);
          }
        };
        void read().catch((error) => controller.error(error));
      },
    });
    return new Response(stream, { status: response.status });
  };
`;
