import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import {
  describedApis,
  giteaApi,
  gitlabApi,
  googleChatApi,
  jiraApi,
  linearApi,
  ntfyApi,
  pagerdutyApi,
  sentryOnce,
} from '../../../support/platforms/described.ts';

for (const api of describedApis) targetContract(t, api);

t.test('DLV-1 · a place is named by keys of its own, and a wrong or unfilled one is no other place', async (t) => {
  const rows = [
    [gitlabApi, { project: 'acme/tools/app', number: 7 }, { project: 'acme/tools/app', number: '{payload.n}' }],
    [giteaApi, { repo: 'acme/app', number: '7' }, { repo: 'acme/app' }],
    [linearApi, { issue: 'ENG-123' }, { issue: '../graphql' }],
    [jiraApi, { issue: 'OPS-7' }, { issue: 'OPS-7/../../myself' }],
    [sentryOnce, { issue: 'APP-1A2' }, { issue: '{payload.issue}' }],
    [pagerdutyApi, { incident: 'PT4KHLK' }, { incident: 'PT4KHLK?x' }],
    [ntfyApi, { topic: 'ops-alerts' }, { topic: 'v1/account' }],
  ] as const;
  for (const [api, right, wrong] of rows) {
    // A home channel must not take what names another place.
    const bench = (await openBench(t, api)).with({ homeChannel: api.chat ?? '' });
    const none = { chat_id: '' };
    t.match(await bench.deliver('hello', { ...none, ...wrong }), { kind: 'refused', class: 'notFound' }, api.target);
    t.equal(bench.platform.requests.length, 0);
    t.match(await bench.deliver('hello', { ...none, ...right }), { kind: 'delivered' }, api.target);
    t.match(bench.platform.world.messages, [{ place: api.chat }]);
    t.equal(bench.target.placeOf(right), api.chat);
  }
});

t.test('DLV-1 · a long comment has arrived if the answer repeats it', async (t) => {
  const bench = await openBench(t, gitlabApi);
  bench.platform.scripts.push({ status: 201, json: { id: 5, body: 'x'.repeat(400_000) } });
  t.match(await bench.deliver('x'.repeat(400_000)), { kind: 'delivered', messageId: '5' });
});

t.test('DLV-1 · an issue of GitLab is named by kind', async (t) => {
  const bench = await openBench(t, gitlabApi);
  await bench.deliver('hello', { project: '42', number: 9, kind: 'issue' });

  t.equal(bench.platform.requests[0]?.path, '/api/v4/projects/42/issues/9/notes');
});

t.test('DLV-1 · a personal key of Linear stands alone in its header', async (t) => {
  const bench = (await openBench(t, linearApi)).with({ options: { token: 'lin_api_1' } });
  await bench.deliver('hello');

  t.equal(bench.platform.requests[0]?.headers.authorization, 'lin_api_1');
});

t.test('DLV-1 · ntfy shows a title and a priority, and needs no token for an open topic', async (t) => {
  const bench = await openBench(t, ntfyApi);
  await bench.deliver('hello', { title: 'Build 7', priority: '9' });
  await bench.with({ options: {} }).deliver('hello', { priority: '4' });
  const [titled, open] = bench.platform.requests;

  t.same(titled?.json, { topic: 'ops-alerts', message: 'hello', title: 'Build 7' });
  t.match(open?.json, { priority: 4 });
  t.equal(open?.headers.authorization, undefined);
});

t.test('DLV-1 · a thread of Google Chat is named by a key of the sender’s own', async (t) => {
  const bench = await openBench(t, googleChatApi);
  await bench.deliver('hello', { thread_key: 'build-7' });
  await bench.deliver('hello again', { thread_id: 'build-8' });
  await bench.deliver('a new thread');

  t.same(
    bench.platform.world.messages.map(({ thread }) => thread),
    ['build-7', 'build-8', undefined],
  );
});
