import { spawnSync } from 'node:child_process';
import t from 'tap';

const modules = new URL('../../actors/', import.meta.url).href;
const linux = process.platform === 'linux' ? {} : { skip: 'needs ulimit -n' };

/** Runs code in a process that has taken all but so many of its descriptors; returns what it prints. */
function exhausted(code: string, spare: number): string {
  const script = `
    import { openSync, closeSync } from 'node:fs';
    const { runCommand, scrubbedEnv, spawnWatched } = await import('${modules}process-group.js');
    const { endGroup } = await import('${modules}mcp/process-exit.js');
    const { createSkillsStore } = await import('${modules}agent/skills.store.js');
    const { holderOf, tryLock } = await import('${modules}lock-file.js');
    const home = process.argv[1];
    const taken = [];
    const exhaust = () => { try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {} for (let n = 0; n < ${spare}; n += 1) closeSync(taken.pop()); };
    ${code}`;
  const words = ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync('sh', [...words, t.testdir()], { encoding: 'utf8' });
  return `${stdout}${stderr}`.trim();
}

const command = `{ argv: ['true'], cwd: '.', env: scrubbedEnv(), stdin: '', timeoutMs: 9e5, maxOutputBytes: 9 }`;

t.test('LIM-5 · a command that finds no descriptors has not begun, and its later error ends nothing', linux, (t) => {
  for (let spare = 0; spare < 8; spare += 1) {
    const said = exhausted(
      `exhaust(); const result = await runCommand(${command}); await new Promise((done) => setTimeout(done)); console.log(result.kind);`,
      spare,
    );
    t.equal(said, 'notBegun', `with ${spare} left`);
  }
  t.end();
});

t.test('LIM-5 · LIF-9 · a group is ended without a descriptor to look at it', linux, (t) => {
  const said = exhausted(
    `const child = spawnWatched('/bin/sleep', ['600'], { cwd: '.', env: scrubbedEnv() });
     const exited = new Promise((resolve) => child.once('exit', resolve));
     exhaust();
     await endGroup({ group: child.pid, exited, politeMs: 0, termMs: 0 });
     await exited;
     console.log('ended');`,
    0,
  );
  t.equal(said, 'ended');
  t.end();
});

t.test('LIM-5 · what cannot be read for want of descriptors does not count as absent', linux, (t) => {
  const said = exhausted(
    `const { mkdirSync, writeFileSync } = await import('node:fs');
     mkdirSync(home + '/skill'); writeFileSync(home + '/skill/SKILL.md', 'text');
     const taking = tryLock(home + '/lock'); const { lock } = taking;
     exhaust();
     let skill; try { skill = createSkillsStore({ folder: home }).text('skill'); } catch ({ code }) { skill = code; }
     console.log(skill, holderOf(home + '/lock').kind, lock.isMine());`,
    0,
  );
  t.equal(said, 'EMFILE making true');
  t.end();
});
