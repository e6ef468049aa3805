import { readFileSync } from 'node:fs';
import t from 'tap';
import { knownPrograms } from '../../../machines/agent/known-programs.ts';

t.test('INS-4 · a call of Codex waits as long as a person may take to approve it', (t) => {
  const codex = knownPrograms.find(({ program }) => program === 'codex')?.command.join(' ') ?? '';
  const page = readFileSync('docs/quick-starts.md', 'utf8');
  const row = page.split('\n').find((line) => line.startsWith('| [Codex]')) ?? '';
  for (const command of [codex, row]) {
    const [, seconds] = /mcp_servers\.agent=\{[^}]*\btool_timeout_sec=(\d+)/.exec(command) ?? [];
    t.ok(Number(seconds) > 300, `${seconds} s; a question is open for 300`);
  }
  t.match(page, /"mcp", "serve"\], "timeout": \d{6,}\}/);
  t.end();
});
