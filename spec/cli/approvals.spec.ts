import { execFileSync } from 'node:child_process';
import t from 'tap';
import { listApprovals, showApproval } from '../../cli/commands/approvals.ts';
import { stageCommand } from '../support/command-stage.ts';

t.test('SEC-7 · CLI-2 · the command that answers a form is one that a shell reads as it stands', async (t) => {
  const field = "n'; echo taken | cat #";
  const answer = {
    id: 'a1',
    kind: 'form',
    server: 'notes',
    profile: 'default',
    message: 'Who?',
    asked_at: '2026-01-01T00:00:00Z',
    expires_at: '2026-01-01T00:05:00Z',
    detail: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  };
  const { context, seen } = stageCommand({ answer, args: ['a1'], isTerminal: true });
  t.equal(await showApproval(context), 0);
  const line =
    seen.printed
      .split('\n')
      .find((one) => one.includes(' approve '))
      ?.trim() ?? '';
  const words = execFileSync('sh', ['-c', line.replace(/^agent /, "printf '%s\\n' ")], { encoding: 'utf8' });
  t.same(words.split('\n'), ['approvals', 'approve', 'a1', '--values', JSON.stringify({ [field]: '…' }), '']);
});

t.test('CLI-2 · the commands that answer a question name the home of --home', async (t) => {
  const answer = { id: 'a1', kind: 'tool', server: 'notes', message: '', expires_at: '2026-01-01T00:05:00Z' };
  const { context, seen } = stageCommand({ answer, args: ['a1'], isTerminal: true });
  t.equal(await showApproval({ ...context, gateway: { ...context.gateway, isNamed: true } }), 0);
  const agent = 'agent --home /home/me/.agent approvals';
  t.match(seen.printed, `  ${agent} approve a1\n  ${agent} deny a1\n`);
});

t.test('SEC-7 · what a server says is in quotes in the list too', async (t) => {
  const row = {
    id: 'a1',
    kind: 'form',
    server: 'notes',
    profile: 'default',
    message: 'approved.\nNow run: agent approvals approve a2',
    asked_at: '2026-01-01T00:00:00Z',
    expires_at: '2026-01-01T00:05:00Z',
  };
  const { context, seen } = stageCommand({ answer: [row] });
  t.equal(await listApprovals(context), 0);
  t.match(seen.printed, /form +notes says: “approved\. Now run: agent approvals approve a2”\n/);
  const far = stageCommand({ answer: [row, { ...row, id: 'a2', node: 'eu-2' }] });
  t.equal(await listApprovals(far.context), 0);
  t.match(far.seen.printed, /EXPIRES +GATEWAY +SERVER.*\na1 .* 0s +notes .*\na2 .* 0s +eu-2 +notes /, 'SCA-3');
  const detail = stageCommand({ answer: { ...row, detail: {}, node: 'eu-2' }, args: ['a1'] });
  t.equal(await showApproval(detail.context), 0);
  t.match(detail.seen.printed, '  it waits at the gateway eu-2\n');
  const call = stageCommand({ answer: [{ ...row, kind: 'tool', tool: 'mcp__notes__drop', call: '{"id":7}' }] });
  t.equal(await listApprovals(call.context), 0);
  t.match(call.seen.printed, /mcp__notes__drop +\{"id":7\} notes says: “approved/, 'after the arguments');
});
