import t from 'tap';
import type { ModelRunner } from '../../../actors/agent/run-model.ts';
import { loadHome } from '../../../actors/config/load-config.ts';
import { homePaths } from '../../../machines/config/profile.ts';
import { createRunners } from '../../../runtime/agent/runners.ts';
import { makeHome } from '../../support/home.ts';
import { plainRequest } from '../../support/records.ts';

const never = new AbortController().signal;

t.test('LIM-5 · DIS-3 · model code that could not be loaded is loaded with a later run', async (t) => {
  const home = makeHome(t, {
    'config.yaml': 'agent: {runner: model, model: {provider: anthropic, base_url: "http://127.0.0.1:9", name: m}}\n',
  });
  const account = { spending: { steps: 1, inputTokens: 0, outputTokens: 0 }, transcript: [] };
  const answering: ModelRunner = () => Promise.resolve({ kind: 'responded', response: 'Done.', account });
  let loads = 0;
  const load = (): Promise<ModelRunner> => {
    loads += 1;
    const exhausted = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    return loads === 1 ? Promise.reject(exhausted) : Promise.resolve(answering);
  };
  const ports = {
    paths: homePaths(home.path),
    openSocket: async () => () => {},
    servers: () => {
      throw new Error('no server is needed');
    },
    redact: (text: string) => text,
    nowMs: () => 0,
    random: () => 0,
    log: { log: () => {}, warnOnce: () => {} },
  };
  const run = createRunners(ports, load).of(loadHome({ home: home.path, env: {} }).main);
  await t.rejects(run(plainRequest, never), { code: 'EMFILE' });
  for (let nth = 0; nth < 2; nth += 1)
    t.match(await run(plainRequest, never), { kind: 'responded', response: 'Done.' });
  t.equal(loads, 2, 'what was loaded is kept');
});
