import t from 'tap';
import { isJsonObject } from '../../../machines/base/json.ts';
import { readJson } from '../../../machines/base/read-json.ts';
import { deliveryIdOf, eventTypeOf } from '../../../machines/webhook/envelope.ts';
import { findSample, sampleNames, sealSample } from '../../../machines/webhook/samples.ts';
import { signatureVerifier } from '../../../machines/webhook/signature.ts';

const secret = 'sécret-of-the-route';

t.test('SUB-4 · SIG-1 · each sample is genuine by the scheme of its platform, and by no other secret', (t) => {
  for (const name of sampleNames) {
    const { headers, body } = sealSample(name, { secret, id: 'one-1' });
    const request = { headers, body: Buffer.from(body), nowMs: 0 };
    const scheme = name.startsWith('github:') ? 'github' : 'gitlab';
    t.match(
      signatureVerifier({ kind: 'shared', secret })(request),
      { kind: 'genuine', scheme, deprecated: false },
      name,
    );
    t.equal(signatureVerifier({ kind: 'shared', secret: 'another-secret' })(request).kind, 'refused', name);
    const payload = readJson(body);
    if (!isJsonObject(payload)) return t.fail(`${name} is no object`);
    t.equal(deliveryIdOf(headers, request.body), 'one-1', name);
    const type = eventTypeOf(headers, payload).toLowerCase().replace(' hook', '').replace(' ', '_');
    const [, action] = name.split('.');
    t.equal(`${name.split(':')[0]}:${type}${action === undefined ? '' : `.${action}`}`, name);
    const acted = (payload.object_attributes as { action?: string } | undefined)?.action ?? payload.action;
    t.equal(acted, action, `${name} carries its action`);
  }
  t.same(Object.keys(sealSample('github:ping', { id: '1' }).headers), ['x-github-event', 'x-github-delivery']);
  t.end();
});

t.test('SUB-4 · a sample is found by its event where one platform has that', (t) => {
  t.same(findSample('pull_request.opened'), { ok: true, name: 'github:pull_request.opened' });
  t.same(findSample('gitlab:push'), { ok: true, name: 'gitlab:push' });
  t.match(findSample('push'), { ok: false, why: '"push" is github:push and gitlab:push; name one' });
  t.match(findSample('github:pusk'), { ok: false, why: /did you mean "github:push"/ });
  t.match(findSample('checkout'), { ok: false, why: /no sample is named "checkout"; github:ping, / });
  t.end();
});
