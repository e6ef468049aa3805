import t from 'tap';
import { tryLock } from '../../actors/lock-file.ts';
import { askCli } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome } from '../support/home.ts';

t.test('CLI-3 · CLI-2 · a gateway that hangs is named with the cure, and what is in files is read there', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: nothing}\n' }).path;
  const held = tryLock(`${home}/gateway.lock`);
  t.teardown(() => held.kind === 'taken' && held.lock.release());
  await fakeGateway(t, home, () => {});
  const { pid } = process;
  const hung = `agent: the gateway (process ${pid}) does not answer: if it was stopped, \`kill -CONT ${pid}\` continues it; if it hangs, \`kill -9 ${pid}\` ends it`;

  const [check, shown, status, followed, added, restarted] = await Promise.all(
    [
      'config check',
      'webhook list',
      'gateway status',
      'events --follow',
      'cron add digest --prompt p',
      'gateway restart',
    ].map((words) => askCli(words.split(' '), home)),
  );

  const fromFiles = `${hung}; this is read from the files of the home\n`;
  t.match(check, { code: 1, stderr: fromFiles, stdout: /^config\.yaml:1:\d+: .*\[wrong-value\]/ });
  t.strictSame(check?.stderr, fromFiles, 'said once, for both of its questions');
  t.match(shown, { code: 0, stderr: fromFiles, stdout: /^NAME .*\nconfig\.yaml:1 / });
  t.strictSame(status, { code: 1, stdout: '', stderr: `${hung} [gateway-gone]\n` });
  t.strictSame(followed, { code: 1, stdout: '', stderr: `${hung} [gateway-gone]\n` });
  t.match(added, { code: 1, stderr: `${hung}; if it continues, it may still do what was asked [gateway-gone]\n` });
  t.match(restarted, { code: 1, stdout: '', stderr: hung });
});
