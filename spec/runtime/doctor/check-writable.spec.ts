import { readdirSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { checkWritable } from '../../../runtime/doctor/check-writable.ts';
import { codes, examined, troubles } from '../../support/examined.ts';

const files = { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/work/.env': 'A=1\n', 'state/x': '' };

t.test(
  'HOME-2 · CLI-2 · a home that can be written is good, what is not there yet too, and nothing is written',
  (t) => {
    const one = examined(t, files);
    const before = readdirSync(one.paths.home).sort();
    t.same(codes(checkWritable(one)), []);
    t.same(readdirSync(one.paths.home).sort(), before);
    t.end();
  },
);

t.test('HOME-2 · CLI-2 · every folder that the gateway cannot write is reported, with the cure of its cause', (t) => {
  const one = examined(t, files);
  const { home } = one.paths;
  const rows: readonly (readonly [string, string, string, RegExp])[] = [
    [home, 'EACCES', home, /^chmod u\+wx \S+; .*as root: chown -R \d+ \S+$/],
    [home, 'EROFS', home, /AGENT_HOME/],
    [`${home}/state`, 'EACCES', 'state', /^chmod u\+wx .*\/state/],
    [`${home}/logs`, 'ENOTDIR', 'logs', /^move what is at .*\/logs/],
    [`${home}/profiles/work`, 'EACCES', 'profiles/work', /chmod/],
    [`${home}/profiles/work/cron`, 'EPERM', 'profiles/work/cron', /chmod/],
    [`${home}/mcp-tokens`, 'EACCES', 'mcp-tokens', /chmod/],
  ];
  for (const [folder, code, place, cure] of rows) {
    const found = checkWritable(one, (path) => {
      if (path === folder) throw Object.assign(new Error(code), { code });
    });
    t.same(codes(found), ['wrong path-unwritable'], `${folder} ${code}`);
    t.match(troubles(found), [{ place, what: new RegExp(code), cure }]);
  }
  t.end();
});

t.test('HOME-2 · CLI-2 · a file in the place of a folder, and a link that leads nowhere, are found', (t) => {
  const one = examined(t, { state: 'a file' });
  symlinkSync('/nowhere/logs', one.paths.logs);
  t.match(troubles(checkWritable(one)), [
    { code: 'path-unwritable', place: 'state', what: /ENOTDIR/ },
    { code: 'path-unwritable', place: 'logs', what: /ENOENT/, cure: /^mount the disk of \/nowhere\/logs, / },
  ]);
  t.end();
});

t.test(
  'HOME-2 · CLI-2 · a folder that its owner may not write is found by the system itself',
  {
    skip: process.getuid?.() === 0 && 'root may write everywhere',
  },
  (t) => {
    const one = examined(t, files);
    t.same(codes(checkWritable({ ...one, paths: { ...one.paths, logs: '/' } })), ['wrong path-unwritable']);
    t.end();
  },
);
