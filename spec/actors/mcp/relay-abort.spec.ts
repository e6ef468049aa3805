import { getEventListeners } from 'node:events';
import t from 'tap';
import { relayAbort } from '../../../actors/mcp/relay-abort.ts';

t.test('LIF-3 · an abort is passed on with its reason, while the request is under way', (t) => {
  const source = new AbortController();
  const [under, over] = [relayAbort(source.signal), relayAbort(source.signal)];
  over.end();
  const reason = new Error('enough');
  source.abort(reason);
  t.equal(under.signal.reason, reason);
  t.notOk(over.signal.aborted);
  t.equal(relayAbort(source.signal).signal.reason, reason, 'one that comes too late is aborted at once');
  t.end();
});

t.test('LIF-3 · thousands of requests leave no listener and no warning behind', async (t) => {
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', warned);
  const source = new AbortController();
  const relays = Array.from({ length: 2_000 }, () => relayAbort(source.signal));
  t.equal(getEventListeners(source.signal, 'abort').length, 2_000);
  for (const { end } of relays) end();
  t.equal(getEventListeners(source.signal, 'abort').length, 0);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warned);
  t.same(warnings, []);
});
