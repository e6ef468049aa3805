/**
 * Runs every spec by tap and counts what it says: `npm test` prints tap's own report and leaves `N passed, N failed` in
 * `.tap/counts.txt` for whoever wants the numbers.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';

const child = spawn('npx', ['tap', '--reporter=tap', ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let passed = 0;
let failed = 0;
let file = '';
let waiting = '';
child.stdout.setEncoding('utf8');
child.stdout.on('data', (chunk: string) => {
  const lines = (waiting + chunk).split('\n');
  waiting = lines.pop() ?? '';
  for (const line of lines) count(line);
});
child.on('close', (code) => {
  count(waiting);
  const line = `${passed} passed, ${failed} failed`;
  mkdirSync('.tap', { recursive: true });
  writeFileSync('.tap/counts.txt', `${line}\n`);
  process.stdout.write(`${line}\n`);
  process.exit(code ?? 1);
});

/** A line of TAP: nested results carry the assertions, the outermost ones name the files. */
function count(line: string): void {
  const result = /^(\s*)(not )?ok \d+ - (.*)$/.exec(line);
  if (result === null) {
    if (/^\s+(---|\.\.\.|[\w-]+:)/.test(line) && failed > 0) process.stdout.write(`${line}\n`);
    return;
  }
  const [, indent = '', bad, title = ''] = result;
  const isSkipped = /# (SKIP|TODO)/i.test(title);
  if (indent === '') {
    file = title.replace(/ # time=.*$/, '');
    process.stdout.write(`${bad === undefined ? 'ok' : 'FAILED'}  ${file}\n`);
    if (bad !== undefined && failed === 0) failed += 1;
    return;
  }
  if (indent.length !== 4) {
    if (bad !== undefined) process.stdout.write(`${line}\n`);
    return;
  }
  if (isSkipped) process.stdout.write(`skipped  ${title}\n`);
  else if (bad === undefined) passed += 1;
  else {
    failed += 1;
    process.stdout.write(`${line}\n`);
  }
}
