import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { checkFiles } from '../../../runtime/doctor/check-files.ts';
import { codes, examined, troubles } from '../../support/examined.ts';

const files = {
  'config.yaml': 'gateway: {multiplex_profiles: true}\n',
  '.env': 'A=1\n',
  'mcp-tokens/x.json': '{}',
  'scripts/a.sh': '#!/bin/sh\n',
  'profiles/work/.env': 'B=1\n',
};

t.test('HOME-3 · CLI-2 · what other users can reach is found, and closed by --fix', async (t) => {
  const one = examined(t, files);
  const { home } = one.paths;
  for (const folder of ['', '/mcp-tokens', '/profiles', '/profiles/work']) chmodSync(`${home}${folder}`, 0o700);
  t.same(codes(checkFiles(one)), [], 'a home as the gateway makes it');

  const opened: readonly (readonly [string, number, string])[] = [
    ['', 0o755, 'warning path-open'],
    ['/.env', 0o644, 'warning path-open'],
    ['/mcp-tokens/x.json', 0o640, 'warning path-open'],
    ['/profiles/work/.env', 0o604, 'warning path-open'],
    ['/scripts/a.sh', 0o777, 'wrong script-writable'],
  ];
  for (const [path, mode, code] of opened) {
    const before = statSync(`${home}${path}`).mode & 0o777;
    chmodSync(`${home}${path}`, mode);
    const found = troubles(checkFiles(one));
    t.same(codes(found), [code], path);
    t.match(found[0]?.place, path === '' ? home : path.slice(1));
    await found[0]?.fix?.();
    t.same(codes(checkFiles(one)), [], `${path} is fixed`);
    t.equal(statSync(`${home}${path}`).mode & 0o077, code.includes('script') ? 0o055 : 0, path);
    chmodSync(`${home}${path}`, before);
  }
});

t.test('HOME-3 · SCR-1 · CLI-2 · a link out of the scripts is not run, and leads --fix to no file of others', (t) => {
  const one = examined(t, { 'config.yaml': '', 'scripts/a.sh': '#!/bin/sh\n' });
  chmodSync(one.paths.home, 0o700);
  const shared = `${t.testdir()}/shared.sh`;
  writeFileSync(shared, '#!/bin/sh\n');
  chmodSync(shared, 0o775);
  symlinkSync(shared, `${one.paths.scripts}/b.sh`);
  mkdirSync(one.paths.skills);
  symlinkSync('.', `${one.paths.skills}/self`);
  symlinkSync('loop', `${one.paths.skills}/loop`);
  mkdirSync(one.paths.logs, { mode: 0o700 });
  symlinkSync('loop', `${one.paths.logs}/loop`);
  t.same(codes(checkFiles(one)), []);
  t.end();
});

t.test('CLI-2 · what belongs to another user is reported with its cure', (t) => {
  const one = examined(t, { 'config.yaml': '' });
  chmodSync(one.paths.home, 0o700);
  const [first] = troubles(checkFiles(one, 4_242));
  t.match(first, {
    level: 'wrong',
    code: 'path-foreign',
    cure: /^sudo -u '#\d+' agent --home .*; or, while no gateway of that user runs, as root: chown -R 4242/,
  });
  mkdirSync(`${one.paths.home}/scripts/our own`, { recursive: true });
  chmodSync(`${one.paths.home}/scripts/our own`, 0o777);
  const cure = `chmod go-w '${one.paths.home}/scripts/our own'`;
  t.ok(
    troubles(checkFiles(one)).some((found) => found.cure === cure),
    'a shell takes the path as one word',
  );
  mkdirSync(`${one.paths.home}/state`, { mode: 0o700 });
  t.ok(troubles(checkFiles(one, 4_242)).some(({ place }) => place === 'state'));
  t.end();
});
