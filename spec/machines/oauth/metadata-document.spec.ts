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
    ['as some servers write the type', { contentType: 'Application/JSON ; charset=utf-8' }, []],
    ['300', { status: 300 }, ['document-redirect']],
    ['301', { status: 301 }, ['document-redirect']],
    ['399', { status: 399 }, ['document-redirect']],
    ['400', { status: 400 }, ['document-status']],
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
  t.end();
});

t.test('OAU-5 · each finding says what is wrong, and what is right', (t) => {
  const body = good.body as Record<string, unknown>;
  const rows: readonly (readonly [Partial<DocumentAnswer>, string])[] = [
    [{ status: 302 }, 'answers with a redirect (302); serve it at its own address'],
    [{ status: 404 }, 'answers 404 instead of 200'],
    [{ contentType: 'Text/HTML; charset=utf-8' }, 'is served as text/html instead of application/json'],
    [{ contentType: undefined }, 'is served as no content type instead of application/json'],
    [{ body: [] }, 'is no JSON object'],
    [{ body: { ...body, client_id: 1 } as never }, 'does not carry its own address as client_id'],
    [
      { body: { ...body, redirect_uris: documentRedirects.slice(2) } as never },
      'lacks redirect_uris: http://127.0.0.1:27890/callback http://localhost:27890/callback',
    ],
  ];
  for (const [change, what] of rows) {
    t.same(
      checkDocument(url, { ...good, ...change }).map(({ message }) => message),
      [`the client metadata document ${url} ${what}`],
    );
  }
  t.end();
});
