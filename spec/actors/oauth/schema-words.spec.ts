import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import t from 'tap';
import { schemaWords } from '../../../actors/oauth/schema-words.ts';

const thrownFor = async (body: string): Promise<unknown> =>
  discoverAuthorizationServerMetadata('https://as.example', {
    fetchFn: () => Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } })),
  }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

t.test('OAU-7 · what a schema refuses is said by its keys', async (t) => {
  t.equal(
    schemaWords(await thrownFor('{"issuer":"https://as.example","response_types_supported":"code"}'), 'its metadata'),
    'its metadata has no valid authorization_endpoint, token_endpoint, response_types_supported',
  );
  t.match(schemaWords(await thrownFor('[]'), 'its metadata'), /^its metadata is no JSON object$/);
  t.equal(schemaWords(await thrownFor('<h1>'), 'its metadata'), 'its metadata is no JSON');
});

t.test('OAU-7 · any other error has words of its own', (t) => {
  for (const thrown of [new Error('x'), new TypeError('fetch failed'), 'x', null, undefined, { name: 'ZodError' }])
    t.equal(schemaWords(thrown, 'its answer'), undefined, String(thrown));
  t.end();
});
