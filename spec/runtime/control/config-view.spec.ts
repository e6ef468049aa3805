import t from 'tap';
import type { ProfileName } from '../../../machines/base/names.ts';
import { showConfig } from '../../../runtime/control/config-view.ts';
import { serverCommands } from '../../../runtime/control/server-commands.ts';
import { makeHome } from '../../support/home.ts';

t.test('CLI-6 · OBS-1 · PRF-1 · INS-4 · settings are masked whether their profile is served or not', async (t) => {
  const withPassword = (password: string): string =>
    `mcp_servers: {s: {command: x, env: {DB_PWD: ${password}, REGION: eu-central}}}\n`;
  const home = makeHome(t, {
    'config.yaml': withPassword('own-password'),
    'profiles/work/config.yaml': withPassword('another-password'),
  });
  for (const profile of ['default', 'work']) {
    const { settings } = await showConfig({ home: home.path, env: {} }, profile as ProfileName);
    const values = settings.filter(({ key }) => key.startsWith('mcp_servers.s.env.')).map(({ value }) => value);
    t.same(values, ['[redacted]', 'eu-central'], profile);
    const host = { source: { home: home.path, env: {} } };
    const shown = await serverCommands['mcp.show'](host, { server: 's', profile });
    t.match(shown, { entry: { env: { DB_PWD: '[redacted]', REGION: 'eu-central' } }, enabled: true }, profile);
    t.match(shown.lowers, [/^trust: /, /^env: it sets /]);
    t.same(shown.further, [], 'the page shows both of them by themselves');
  }
});
