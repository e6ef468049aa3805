import t from 'tap';
import { sameListener } from '../../../machines/config/reload.ts';
import type { Settings } from '../../../machines/config/settings.ts';

const settings = (more: object = {}, front = 'auto'): Settings =>
  ({ webhook: { enabled: true, host: 'a', port: 1, secret: 's', ...more }, gateway: { front } }) as unknown as Settings;

t.test('CFG-2 · ADP-1 · only switch, address and kind of front ask for another listener', (t) => {
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
