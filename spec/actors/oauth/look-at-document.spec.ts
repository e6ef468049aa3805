import t from 'tap';
import { lookAtDocument } from '../../../actors/oauth/look-at-document.ts';
import { documentFor } from '../../support/oauth/authorization-server.ts';
import { type Answer, startScriptedServer } from '../../support/oauth/scripted-server.ts';

t.test('OAU-5 · a document is fetched once, without following a redirect, and what is wrong is reported', async (t) => {
  const server = await startScriptedServer(t);
  const url = `${server.origin}/client.json`;
  const rows: readonly (readonly [string, Answer, readonly string[]])[] = [
    ['good', { json: documentFor(url) }, []],
    ['of another', { json: documentFor('https://other.example/c') }, ['document-client-id']],
    ['moved', { kind: 'redirect', to: `${server.origin}/elsewhere` }, ['document-redirect']],
    ['half', { kind: 'text', text: '{"client_id":', type: 'application/json' }, ['document-json']],
    ['a reset', { kind: 'reset' }, ['document-unreachable']],
  ];
  for (const [what, answer, codes] of rows) {
    server.on('/client.json', answer);
    const findings = await lookAtDocument(url, fetch);
    t.same(
      findings.map(({ code }) => code),
      codes,
      what,
    );
  }
  t.equal(server.at('/client.json').length, rows.length);
  t.same(server.at('/elsewhere'), []);
});
