import { spawnSync } from 'node:child_process';
import t from 'tap';
import { asOther } from '../support/processes.ts';

const modules = new URL('../../actors/', import.meta.url).href;
const linux = process.platform === 'linux' ? {} : { skip: 'needs ulimit -n' };

/** Runs code in a process that has taken all but so many of its descriptors; returns what it prints. */
function exhausted(code: string, spare: number, descriptors = 128): string {
  const script = `
    import { openSync, closeSync } from 'node:fs';
    const { runCommand, scrubbedEnv, spawnWatched } = await import('${modules}process-group.js');
    const { endGroup } = await import('${modules}mcp/process-exit.js');
    const { writeRunFiles } = await import('${modules}agent/run-files.js');
    const { createSkillsStore } = await import('${modules}agent/skills.store.js');
    const { createListReader } = await import('${modules}webhook/read-lists.js');
    const { holderOf, tryLock } = await import('${modules}lock-file.js');
    const home = process.argv[1];
    const taken = [];
    const exhaust = () => { try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {} for (let n = 0; n < ${spare}; n += 1) closeSync(taken.pop()); };
    ${code}`;
  const limited = `ulimit -n ${descriptors}; exec "$@"`;
  const words = ['-c', limited, 'sh', process.execPath, '--input-type=module', '-e', script];
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
    `const { child, sweep } = spawnWatched('/bin/sleep', ['600'], { cwd: '.', env: scrubbedEnv() });
     const exited = new Promise((resolve) => child.once('exit', resolve));
     exhaust();
     await endGroup({ group: child.pid, exited, sweep, politeMs: 0, termMs: 0 });
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

t.test('LIM-5 · FIL-3 · neither a list that cannot be opened nor the one before its change answers', linux, (t) => {
  const said = exhausted(
    `const { writeFileSync } = await import('node:fs');
     for (const name of ['same', 'changed', 'new']) writeFileSync(home + '/' + name, 'one');
     const { list } = createListReader({ home });
     const has = (name) => { const found = list(name); return found === undefined ? 'absent' : String(found.has('one')); };
     for (const name of ['same', 'changed']) has(name);
     writeFileSync(home + '/changed', 'other');
     exhaust();
     const names = ['same', 'changed', 'new', 'none'];
     const without = names.map(has);
     closeSync(taken.pop());
     console.log(without.join(), names.map(has).join());`,
    0,
  );
  const unread = 'the system has no descriptors left to read the list';
  t.equal(said, `true,${unread},${unread},absent true,false,true,absent`);
  t.end();
});

t.test('LIM-5 · TLS-1 · certificates that cannot be opened are no wrong setting, and are read later', linux, (t) => {
  const said = exhausted(
    `const { writeFileSync } = await import('node:fs');
     const { rootCertificates } = await import('node:tls');
     const { readTlsFiles } = await import('${modules}mcp/tls-files.js');
     const ca = process.env.SSL_CERT_FILE = home + '/ca.pem';
     writeFileSync(ca, rootCertificates[0]);
     const read = async (verify) => {
       const plan = { verify, certKey: 'client_cert', keyKey: 'client_cert' };
       return readTlsFiles({ server: 's', userHome: home, plan }).then(() => 'read', ({ code }) => code);
     };
     exhaust();
     const without = [await read(true), await read(ca)];
     for (const one of taken) closeSync(one);
     console.log(without.join(), await read(true), await read(ca));`,
    0,
    512,
  );
  t.equal(said, 'EMFILE,EMFILE read read');
  t.end();
});

/** What a user that no other process runs as may start: node with its threads, and some more. */
const processes = 64;

t.test('LIM-5 · a command begins with all the processes that it takes, or has not begun', asOther, (t) => {
  const script = `
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    const { runCommand, scrubbedEnv } = await import('${modules}process-group.js');
    const command = { argv: ['cat'], cwd: '/', env: scrubbedEnv(), stdin: 'in', timeoutMs: 9e5, maxOutputBytes: 9 };
    const rows = [];
    const sleepers = [];
    // Filled up anew for each row: an orphan that has ended counts until the init process reaps it.
    const leave = async (spare) => {
      for (;;) {
        const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
        sleeper.on('error', () => {});
        if (sleeper.pid === undefined) break;
        sleepers.push(sleeper);
      }
      for (const sleeper of sleepers.splice(0, spare)) {
        sleeper.kill('SIGKILL');
        await once(sleeper, 'exit');
      }
    };
    const run = async (before) => {
      let handed = 0;
      const more = before ? { before: async () => void (handed += 1) } : {};
      const { kind, code, stdout } = await runCommand({ ...command, ...more });
      rows.push([before ? 'held' : 'free', kind, code, stdout, handed].join(' '));
    };
    await run(true);
    for (let spare = 0; spare < 6; spare += 1) {
      for (const before of [false, true]) {
        await leave(spare);
        await run(before);
      }
    }
    for (const sleeper of sleepers) sleeper.kill('SIGKILL');
    console.log(JSON.stringify(rows));`;
  const words = [
    '-c',
    `ulimit -u ${processes}; exec "$@"`,
    'bash',
    process.execPath,
    '--input-type=module',
    '-e',
    script,
  ];
  const uid = 60_000 + (process.pid % 5_000);
  const { stdout, stderr } = spawnSync('bash', words, { encoding: 'utf8', cwd: '/', uid, gid: uid });
  const rows = JSON.parse(stdout || JSON.stringify([stderr])) as string[];
  t.same([...new Set(rows)].sort(), [
    'free exited 0 in 0',
    'free notBegun   0',
    'held exited 0 in 1',
    'held notBegun   0',
  ]);
  t.end();
});

t.test('LIM-5 · CON-3 · files of a run that cannot be written leave nothing behind', linux, (t) => {
  for (let spare = 0; spare < 8; spare += 1) {
    const said = exhausted(
      `const { mkdirSync, readdirSync } = await import('node:fs');
       const settings = { folder: home + '/runs-' + ${spare}, program: ['node'], openSocket: async () => { try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {} throw new Error('no socket'); } };
       const run = { runId: 'r', profile: 'default', prompt: 'a secret prompt', toolsets: [] };
       mkdirSync(settings.folder, { mode: 0o700 });
       exhaust();
       for (let n = 0; n < 5; n += 1) await writeRunFiles(settings, run).catch(() => {});
       for (const one of taken.splice(0)) closeSync(one);
       console.log(readdirSync(settings.folder).length);`,
      spare,
    );
    t.equal(said, '0', `with ${spare} left`);
  }
  t.end();
});
