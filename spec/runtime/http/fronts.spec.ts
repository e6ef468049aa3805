import t from 'tap';
import type { LogLevel } from '../../../actors/ports.ts';
import { openFront } from '../../../runtime/http/choose.ts';
import { openNodeFront } from '../../../runtime/http/node.ts';
import { openUwsFront } from '../../../runtime/http/uws.ts';
import { frontContract } from '../../conformance/front.ts';

frontContract(t, 'node', openNodeFront);
frontContract(t, 'uws', openUwsFront);

t.test('CON-2 · the front is chosen as configured, and one line says which', async (t) => {
  for (const [choice, kind] of [
    ['node', 'node'],
    ['auto', 'uws'],
    ['uws', 'uws'],
  ] as const) {
    const lines: string[] = [];
    const log = { log: (_: LogLevel, message: string) => void lines.push(message), warnOnce: () => {} };
    const front = await openFront(choice, { host: '127.0.0.1', port: 0, bodyTimeoutMs: 1_000 }, () => {}, log);
    t.equal(front.kind, kind);
    t.match(lines, [/^front: /]);
    await front.close(0);
  }
});
