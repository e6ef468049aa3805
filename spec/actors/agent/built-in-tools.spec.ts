import t from 'tap';
import { createBuiltInTools } from '../../../actors/agent/built-in-tools.ts';
import { noTokens } from '../../../machines/agent/model-talk.ts';

const ports = {
  askModel: () => Promise.resolve({ kind: 'failed' as const, why: '', tokens: noTokens }),
  askPerson: () => Promise.resolve({ kind: 'denied' as const }),
};

t.test('DIS-5 · the four tools stand by their names, the search only where there is an endpoint', (t) => {
  t.same([...createBuiltInTools(ports).keys()], ['web_extract', 'vision_analyze', 'clarify']);
  const all = createBuiltInTools({ ...ports, search: { provider: 'searxng', baseUrl: 'http://127.0.0.1:9' } });
  t.same([...all.keys()], ['web_search', 'web_extract', 'vision_analyze', 'clarify']);
  for (const { offer } of all.values()) {
    t.ok(offer.description.length > 20, offer.name);
    t.match(offer.inputSchema, { type: 'object', required: [/./] }, offer.name);
  }
  t.end();
});
