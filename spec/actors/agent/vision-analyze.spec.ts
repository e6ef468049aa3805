import t from 'tap';
import type { ModelVerdict } from '../../../actors/agent/stream-model.ts';
import { createVisionAnalyze } from '../../../actors/agent/vision-analyze.ts';
import { type ModelQuestion, noTokens } from '../../../machines/agent/model-talk.ts';
import { fetchLoopback, page, startPageServer } from '../../support/page-server.ts';

const never = new AbortController().signal;
const tokens = { ...noTokens, input: 7, output: 3 };
const seen: ModelVerdict = {
  kind: 'answered',
  answer: { text: '<think>Fur.</think>A cat.', calls: [], stop: 'ended', tokens },
};
const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 1, 2, 3]);

t.test('DIS-5 · a picture is put before the model by what it is, not by what its server says', async (t) => {
  const { url } = await startPageServer(t, {
    '/png': page('image/jpeg', png),
    '/jpeg': page('image/png', Buffer.from([0xff, 0xd8, 0xff, 0])),
    '/gif': page('image/gif', 'GIF89a…'),
    '/webp': page('image/webp', 'RIFF0000WEBP'),
    '/upload': page('binary/octet-stream', png),
  });
  const asked: ModelQuestion[] = [];
  const { call } = createVisionAnalyze(fetchLoopback, (question) => {
    asked.push(question);
    return Promise.resolve(seen);
  });
  t.same(await call({ image_url: `${url}/png`, question: 'What is it?' }, never), {
    text: 'A cat.',
    isError: false,
    tokens,
  });
  for (const path of ['jpeg', 'gif', 'webp', 'upload']) await call({ image_url: `${url}/${path}` }, never);
  t.match(asked[0]?.turns, [{ role: 'user', text: 'What is it?', picture: { base64: png.toString('base64') } }]);
  t.same(asked[0]?.tools, []);
  t.same(
    asked.map(({ turns: [turn] }) => turn?.role === 'user' && turn.picture?.mediaType),
    ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/png'],
  );
});

t.test('DIS-5 · a file that is no picture is not sent to the model, and its failure is reported', async (t) => {
  const { url } = await startPageServer(t, {
    '/svg': page('image/svg+xml', '<svg/>'),
    '/html': page('text/html', '<p>'),
    '/png': page('image/png', png),
  });
  const failing = createVisionAnalyze(fetchLoopback, () =>
    Promise.resolve({ kind: 'failed', why: 'the model endpoint answered HTTP 400', tokens }),
  );
  t.match(await failing.call({ image_url: `${url}/svg` }, never), { text: /no PNG, JPEG, GIF or WebP/, isError: true });
  t.match(await failing.call({ image_url: `${url}/html` }, never), { text: /of the type text\/html/, isError: true });
  t.match(await failing.call({}, never), { isError: true });
  t.same(await failing.call({ image_url: `${url}/png` }, never), {
    text: 'vision_analyze: the model endpoint answered HTTP 400',
    isError: true,
    tokens,
  });
  const refusing = createVisionAnalyze(fetchLoopback, () =>
    Promise.resolve({ kind: 'answered', answer: { text: '', calls: [], stop: 'refused', tokens } }),
  );
  t.same(await refusing.call({ image_url: `${url}/png` }, never), {
    text: 'vision_analyze: the model, or the filter of its endpoint, refused to answer',
    isError: true,
    tokens,
  });
});
