import t from 'tap';
import { plainFetch } from '../../../actors/oauth/plain-fetch.ts';

const answering = (body: string | null, init: ResponseInit) =>
  plainFetch(() => Promise.resolve(new Response(body, init)))('https://as.example/token');

t.test('OAU-1 · JSON has the form of the standards, with its status', async (t) => {
  const answer = await answering('{"access_token":"at","refresh_token":null}', {
    status: 201,
    headers: { 'content-type': 'text/javascript', etag: 'x' },
  });
  t.equal(answer.status, 201);
  t.equal(answer.headers.get('content-type'), 'application/json');
  t.equal(answer.headers.get('etag'), 'x');
  t.same(await answer.json(), { token_type: 'Bearer', access_token: 'at' });
});

t.test('DEV-4 · an error that is a success, or is announced by a header, is read as an error', async (t) => {
  const headers = { 'www-authenticate': 'Basic realm="as"' };
  for (const [status, shown] of [
    [200, 400],
    [401, 401],
    [503, 503],
  ] as const) {
    const answer = await answering('{"error":"invalid_client"}', { status, headers });
    t.equal(answer.status, shown);
    t.equal(answer.headers.get('www-authenticate'), null);
    t.same(await answer.json(), { error: 'invalid_client' });
  }
  const granted = await answering('{"access_token":"at"}', { status: 200, headers });
  t.ok(granted.headers.has('www-authenticate'));
});

t.test('OAU-1 · what is no JSON object is passed on', async (t) => {
  for (const [text, status] of [
    ['<h1>Bad Gateway</h1>', 502],
    ['[]', 200],
    ['', 400],
  ] as const) {
    const answer = await answering(text, { status });
    t.equal(answer.status, status);
    t.equal(await answer.text(), text);
  }
  t.equal((await answering(null, { status: 204 })).status, 204);
});

t.test('OAU-1 · a form is read as JSON would be, and a long one is passed on', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await answering('access_token=at&expires_in=9', { headers });
  t.match(await answer.json(), { access_token: 'at' });
  const long = `access_token=at&${'a=b&'.repeat(70_000)}`;
  t.ok((await (await answering(long, { headers })).text()) === long);
});

t.test('OAU-7 · an answer that breaks off, or does not end, is named by its address', async (t) => {
  for (const [thrown, why] of [
    [new DOMException('aborted', 'TimeoutError'), 'it did not end in time'],
    [new TypeError('terminated'), 'terminated'],
  ] as const) {
    const body = new ReadableStream({ start: (controller) => controller.error(thrown) });
    const asked = plainFetch(() => Promise.resolve(new Response(body)))('https://as.example/token?secret=x');
    await t.rejects(asked, { message: `the answer of https://as.example/token cannot be read: ${why}` });
  }
});
