import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { defaultProfile } from '../../../machines/base/names.ts';
import type { AddServerContext, AddServerEvent } from '../../../machines/mcp/add-server.machine.ts';
import { runLinkDialog } from '../../../runtime/mcp/link-dialog.ts';

const link = { name: 'docs', config: { url: 'https://mcp.example.com/mcp' } };

/** Answers one after another, and remembers what was shown. */
function surfaceOf(answers: readonly AddServerEvent[]) {
  const shown: { readonly mustRename: boolean; readonly context: AddServerContext }[] = [];
  return {
    shown,
    ask(question: (typeof shown)[number]): Promise<AddServerEvent> {
      shown.push(question);
      return Promise.resolve(answers[shown.length - 1] ?? { type: 'link.cancel' });
    },
  };
}

t.test('LNK-2 · writes only after a yes, and keeps the comments of the file', async (t) => {
  const home = t.testdir({ 'config.yaml': '# mine\nagent: {runner: echo} # stays\n' });
  const place = { home, profile: defaultProfile };

  const refused = await runLinkDialog(link, place, surfaceOf([{ type: 'link.cancel' }]));

  t.same(refused, { kind: 'cancelled' });
  t.equal(readFileSync(join(home, 'config.yaml'), 'utf8'), '# mine\nagent: {runner: echo} # stays\n');

  const surface = surfaceOf([{ type: 'link.confirm' }]);
  const added = await runLinkDialog(link, place, surface);

  t.same(added, { kind: 'added', name: 'docs' });
  t.same(surface.shown[0]?.context.config, link.config, 'the whole config was shown');
  const text = readFileSync(join(home, 'config.yaml'), 'utf8');
  t.match(text, /^# mine\n/);
  t.match(text, /# stays/);
  t.match(text, /docs:\n {4}url: https:\/\/mcp\.example\.com\/mcp/);
});

t.test('LNK-2 · an existing name is never overwritten: another name, or nothing', async (t) => {
  const home = t.testdir({ 'config.yaml': 'mcp_servers:\n  docs: {command: mine}\n' });
  const place = { home, profile: defaultProfile };
  const surface = surfaceOf([
    { type: 'link.rename', name: '../x' },
    { type: 'link.rename', name: 'docs' },
    { type: 'link.rename', name: 'docs2' },
    { type: 'link.confirm' },
  ]);

  const added = await runLinkDialog(link, place, surface);

  t.same(added, { kind: 'added', name: 'docs2' });
  t.same(
    surface.shown.map(({ mustRename }) => mustRename),
    [true, true, true, false],
  );
  t.match(readFileSync(join(home, 'config.yaml'), 'utf8'), /docs: \{ ?command: mine ?\}/);
});

t.test('LNK-2 · a name that is taken while the person reads is not overwritten either', async (t) => {
  const home = t.testdir({ 'config.yaml': '{}\n' });
  const config = join(home, 'config.yaml');
  const shown: boolean[] = [];

  const outcome = await runLinkDialog(
    link,
    { home, profile: defaultProfile },
    {
      ask({ mustRename }) {
        shown.push(mustRename);
        if (shown.length > 1) return Promise.resolve({ type: 'link.cancel' });
        writeFileSync(config, 'mcp_servers:\n  docs: {command: mine}\n');
        return Promise.resolve({ type: 'link.confirm' });
      },
    },
  );

  t.same(outcome, { kind: 'cancelled' });
  t.same(shown, [false, true]);
  t.equal(readFileSync(config, 'utf8'), 'mcp_servers:\n  docs: {command: mine}\n');
});

t.test('LNK-2 · a file that is no YAML is left alone, and the reason is shown', async (t) => {
  const home = t.testdir({ 'config.yaml': '{{{' });

  const outcome = await runLinkDialog(link, { home, profile: defaultProfile }, surfaceOf([{ type: 'link.confirm' }]));

  t.equal(outcome.kind, 'refused');
  t.match(outcome.kind === 'refused' ? outcome.why : '', /config check/);
  t.equal(readFileSync(join(home, 'config.yaml'), 'utf8'), '{{{');
});
