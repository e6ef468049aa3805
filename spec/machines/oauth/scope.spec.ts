import t from 'tap';
import {
  chooseScope,
  demandedScope,
  lackWords,
  loginScope,
  scopeCure,
  widerScope,
  withheldScope,
} from '../../../machines/oauth/scope.ts';

t.test('OAU-1 · the scope comes from the challenge, else from the resource, else there is none', (t) => {
  const resource = { scopes_supported: ['mcp:read', 'mcp:write'] };
  t.equal(chooseScope('files:read', resource, {}), 'files:read');
  t.equal(chooseScope(undefined, resource, {}), 'mcp:read mcp:write');
  t.equal(chooseScope(undefined, undefined, { scopes_supported: ['a'] }), undefined);
  t.equal(chooseScope(undefined, { scopes_supported: [] }, {}), undefined);
  t.equal(chooseScope(undefined, { scopes_supported: [1, 'a', null] }, {}), 'a');
  t.end();
});

t.test('OAU-1 · offline access is asked for where it is offered, once, and never alone', (t) => {
  const offers = { scopes_supported: ['offline_access'] };
  t.equal(chooseScope('a', undefined, offers), 'a offline_access');
  t.equal(chooseScope('offline_access a', undefined, offers), 'offline_access a');
  t.equal(chooseScope(undefined, undefined, offers), undefined);
  t.end();
});

t.test('OAU-1 · a step-up asks for what was granted and what is demanded', (t) => {
  t.equal(widerScope('a b', 'b c'), 'a b c');
  t.equal(widerScope(undefined, 'c'), 'c');
  t.equal(widerScope('a', undefined), 'a');
  t.equal(widerScope(undefined, '  '), undefined);
  t.end();
});

t.test('OAU-3 · the granted scope is requested again only if one was demanded or none is configured', async (t) => {
  const sources = { configured: undefined, discovered: 'a', metadata: {}, granted: 'b', demanded: undefined };
  t.equal(loginScope(sources), 'a b');
  t.equal(loginScope({ ...sources, configured: 'c' }), 'c');
  t.equal(loginScope({ ...sources, configured: 'c', demanded: 'd' }), 'c b d');
  t.equal(loginScope({ ...sources, demanded: '' }), 'a');
  const metadata = { scopes_supported: ['offline_access'] };
  t.equal(loginScope({ ...sources, configured: 'c', metadata }), 'c offline_access');
  t.equal(loginScope({ ...sources, metadata }), 'a b');
  t.equal(loginScope({ ...sources, configured: 'c', metadata, demanded: '' }), 'c');
  t.equal(loginScope({ ...sources, discovered: undefined, demanded: '' }), undefined);
});

t.test('OAU-1 · after invalid_scope the cure depends on what was requested', async (t) => {
  const sources = { configured: undefined, discovered: 'a', metadata: {}, granted: 'b', demanded: undefined };
  t.match(scopeCure(sources, 'a b'), /next login requests only the scope that the server names; set oauth.scope/);
  t.match(scopeCure(sources, 'a'), /^set oauth.scope/);
  t.match(scopeCure({ ...sources, configured: 'c' }, 'c d'), /next login requests only oauth.scope$/);
  t.match(scopeCure({ ...sources, configured: 'c' }, 'c'), /^correct oauth.scope/);
});

t.test('OAU-1 · what a server demands is kept together as long as an address can carry it', (t) => {
  const long = (letter: string) => letter.repeat(3_000);
  t.equal(demandedScope(undefined, 'a b'), 'a b');
  t.equal(demandedScope('a b', 'b c'), 'a b c');
  t.equal(demandedScope('a', ' '), 'a');
  t.equal(demandedScope(long('a'), long('b')), long('b'), 'the latest, without which its call fails');
  t.equal(demandedScope('a', 'b'.repeat(5_000)), 'a');
  t.equal(demandedScope(undefined, 'b'.repeat(5_000)), undefined);
  t.end();
});

t.test('OAU-1 · OAU-8 · a scope counts as granted, however the authorization server separates its words', (t) => {
  for (const granted of ['repo user', 'repo,user', 'repo, user']) {
    t.equal(withheldScope('user repo', granted), undefined, granted);
    t.equal(withheldScope('repo admin', granted), 'admin', granted);
    t.match(lackWords('repo user', granted), /"repo user", although it was granted/, granted);
    t.equal(lackWords('admin', granted), 'the scope "admin"', granted);
  }
  t.equal(withheldScope('a,b', 'a,b'), undefined, 'a comma may be part of a word');
  t.equal(withheldScope('a', undefined), undefined, 'what was requested is granted');
  t.end();
});
