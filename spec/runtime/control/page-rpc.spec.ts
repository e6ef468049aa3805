import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import type { Command, CommandHost, CommandPeer } from '../../../runtime/control/command.ts';
import { answerPage } from '../../../runtime/control/page-rpc.ts';
import { listenHttp } from '../../support/http-listener.ts';

/** A listener that answers a page's requests with a command; resolves with its port. */
async function serve(
  t: Test,
  command: Command,
  answered: (response: ServerResponse) => void = () => {},
): Promise<number> {
  const host = { source: { home: '/nowhere' }, commandOf: () => command } as unknown as CommandHost;
  const ports = { host: () => host, redact: (text: string) => text, isFresh: () => true, guest: { who: 'owner' } };
  const { port } = await listenHttp(t, (request, response) => {
    void answerPage(request, response, ports).then(() => answered(response));
  });
  return port;
}

t.test(
  'INS-2 · a page that stops reading its stream of changes is disconnected, whatever the answer’s size',
  async (t) => {
    const size = 8 * 1_048_576;
    let peer: CommandPeer | undefined;
    const watch: Command = (_, __, mine) => {
      peer = mine;
      return 'x'.repeat(size);
    };
    let max = 0;
    const port = await serve(t, watch, (response) => {
      peer?.onEnd(() => {
        peer = undefined;
      });
      while (!response.closed && !response.destroyed) {
        peer?.notify('overview.changed', { filler: 'y'.repeat(100_000) });
        max = Math.max(max, response.writableLength);
      }
    });

    const body = '{"jsonrpc":"2.0","id":1,"method":"overview.watch"}';
    const page = connect(port, '127.0.0.1');
    page.pause();
    page.write(
      `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\naccept: application/x-ndjson\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(page.on('error', () => {}).resume(), 'close');
    t.equal(peer, undefined, 'the subscription has ended');
    t.ok(max > size, 'the answer alone ends nothing');
    t.ok(max < size + 5 * 1_048_576, `${max} bytes waited`);
  },
);

t.test(
  'INS-2 · what the page does is kept apart from what the command line does, whatever the page says',
  async (t) => {
    const asked: unknown[] = [];
    const command: Command = (_, params) => void asked.push(params);
    const port = await serve(t, command);
    for (const method of ['runs.cancel', 'approvals.answer', 'webhook.test'])
      await fetch(`http://127.0.0.1:${port}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id: 'x', by: 'cli' } }),
      }).then((answer) => answer.text());
    t.same(asked, Array(3).fill({ id: 'x', by: 'page' }));
  },
);
