import t from 'tap';
import { readListener } from '../../../machines/config/webhook-settings.ts';

t.test('ADP-1 · CFG-3 · a switch that cannot be read is no "off": its finding must stop the adapter', (t) => {
  const enabled = (webhook: object, env: Record<string, string> = {}): boolean =>
    readListener(webhook as never, env).settings.enabled;
  t.equal(enabled({}), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: '' }), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: 'off' }), false);
  t.equal(enabled({}, { WEBHOOK_ENABLED: 'perhaps' }), true);
  t.equal(enabled({ enabled: 'yes' }), true);
  t.equal(enabled({ enabled: false }, { WEBHOOK_ENABLED: 'perhaps' }), false);
  t.end();
});
