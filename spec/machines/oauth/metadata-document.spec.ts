import t from 'tap';
import { checkDocument, type DocumentAnswer, documentRedirects } from '../../../machines/oauth/metadata-document.ts';
import { documentFor } from '../../support/oauth/authorization-server.ts';

const url = 'https://agent.test/client.json';
const good: DocumentAnswer = {
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: { ...documentFor(url) } as never,
};

t.test('OAU-5 · each rule of the document has its own finding', (t) => {
  const body = good.body as Record<string, unknown>;
  const rows: readonly (readonly [string, Partial<DocumentAnswer>, readonly string[]])[] = [
    ['a good one', {}, []],
    ['301', { status: 301 }, ['document-redirect']],
    ['404', { status: 404 }, ['document-status']],
    ['204', { status: 204, body: undefined }, ['document-status']],
    ['served as text', { contentType: 'text/plain' }, ['document-type']],
    ['served as nothing', { contentType: undefined }, ['document-type']],
    ['a page', { contentType: 'text/html', body: undefined }, ['document-type', 'document-json']],
    ['a list', { body: [] }, ['document-json']],
    ['another client_id', { body: { ...body, client_id: `${url}#x` } as never }, ['document-client-id']],
    ['no redirects', { body: { ...body, redirect_uris: 'x' } as never }, ['document-redirects']],
    [
      'nine redirects, and another client',
      { body: { ...body, client_id: 1, redirect_uris: documentRedirects.slice(1) } as never },
      ['document-client-id', 'document-redirects'],
    ],
  ];
  for (const [what, change, codes] of rows) {
    const findings = checkDocument(url, { ...good, ...change });
    t.same(
      findings.map(({ code }) => code),
      codes,
      what,
    );
    for (const { message } of findings) t.match(message, url, what);
  }
  t.match(checkDocument(url, { ...good, body: { ...body, redirect_uris: documentRedirects.slice(1) } as never }), [
    { message: /lacks redirect_uris: http:\/\/127\.0\.0\.1:27890\/callback$/ },
  ]);
  t.end();
});
