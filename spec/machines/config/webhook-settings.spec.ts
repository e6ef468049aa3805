import t from 'tap';
import type { Settings } from '../../../machines/config/settings.ts';
import { readListener, sameListener } from '../../../machines/config/webhook-settings.ts';

t.test('ADP-1 · CFG-3 · a switch that cannot be read is no "off": its finding must stop the adapter', (t) => {
  const enabled = (webhook: object, env: Record<string, string> = {}): boolean =>
    readListener(webhook as never, env).settings.enabled;
  t.equal(enabled({}), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: '' }), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: 'off' }), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: 'perhaps' }), true);
  for (const word of ['yes', 'true', 'false', 1, null])
    t.equal(enabled({ enabled: word }, { WEBHOOK_ENABLED: 'off' }), true, String(word));
  t.equal(enabled({ enabled: false }, { WEBHOOK_ENABLED: 'perhaps' }), false);
  t.end();
});

const settings = (more: object = {}, front = 'auto'): Settings =>
  ({ webhook: { enabled: true, host: 'a', port: 1, secret: 's', ...more }, gateway: { front } }) as unknown as Settings;

t.test('CFG-2 · ADP-1 · only switch, address and kind of HTTP server ask for another listener', (t) => {
  t.ok(sameListener(settings(), settings({ secret: 'other', rateLimit: 7, routes: [] })));
  for (const other of [
    settings({ enabled: false }),
    settings({ host: 'b' }),
    settings({ port: 2 }),
    settings({}, 'node'),
  ]) {
    t.notOk(sameListener(settings(), other));
  }
  t.end();
});
