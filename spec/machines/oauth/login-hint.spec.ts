import t from 'tap';
import { aboutServer, describeLoginNeed, loginCommand } from '../../../machines/oauth/login-hint.ts';

t.test('OAU-8 · the command can be pasted into a shell, whatever the server is called', (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['hub', 'default', 'agent mcp login hub'],
    ['hub', 'work', 'agent mcp login hub --profile work'],
    ['my.hub-1@x:y/z+', 'default', 'agent mcp login my.hub-1@x:y/z+'],
    ['a b', 'default', "agent mcp login 'a b'"],
    ['$(rm -rf ~)', 'default', "agent mcp login '$(rm -rf ~)'"],
    ["it's", 'default', "agent mcp login 'it'\\''s'"],
    ['--all', 'default', "agent mcp login '--all'"],
    ['', 'default', "agent mcp login ''"],
  ];
  for (const [server, profile, command] of rows) t.equal(loginCommand(server, profile), command, server);
  t.end();
});

t.test('OAU-8 · what is amiss stands before the command that mends it', (t) => {
  t.equal(describeLoginNeed('hub', 'default', undefined), 'mcp server "hub": needs a login; run `agent mcp login hub`');
  t.equal(
    describeLoginNeed('hub', 'work', 'its token file is damaged'),
    'mcp server "hub": needs a login: its token file is damaged; run `agent mcp login hub --profile work`',
  );
  t.end();
});

t.test('OAU-7 · a server is named once, also if an inner error has named it', (t) => {
  const expected = 'mcp server "hub": its metadata is no JSON';
  t.equal(aboutServer('hub', 'its metadata is no JSON'), expected);
  t.equal(aboutServer('hub', `mcp server "hub": ${expected}`), expected);
  t.match(aboutServer('hub', 'the token endpoint: mcp server "hub": closed'), 'hub": the token endpoint: closed');
  t.match(aboutServer('hub', 'mcp server "other": x'), 'mcp server "hub": mcp server "other": x');
  t.end();
});
