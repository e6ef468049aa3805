import t from 'tap';
import { isJsonObject, type JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readJson } from '../../../machines/base/read-json.ts';
import { readRoute } from '../../../machines/config/read-route.ts';
import { type Source, sourceNames, sources } from '../../../machines/config/sources.ts';
import { parseBody, splitItems } from '../../../machines/webhook/body.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import { deliveryIdOf, eventTypeOf } from '../../../machines/webhook/envelope.ts';
import { findSample, type SampleToSign, sampleNames, signSample } from '../../../machines/webhook/samples.ts';
import type { SignedEvent } from '../../../machines/webhook/sign-event.ts';
import { signatureVerifier } from '../../../machines/webhook/verifier.ts';
import { measurePresets } from '../../bench/presets.ts';

const secret = 'sécret-of-the-route';
const publicUrl = 'https://hooks.example.com';
const path = '/webhooks/in';
const nowMs = 1_700_000_000_000;
const ids = ['7c9e6679-7425-40de-944b-e07fc1f90ae7', '0e02b2c3-58cc-4372-a567-f47ac10b58cc'] as const;

function seal(
  name: string,
  { route = {}, ...given }: { readonly secret?: string; readonly id: string } & Partial<Pick<SampleToSign, 'route'>>,
): SignedEvent {
  return signSample(name, { path, publicUrl, nowMs, route, ...given });
}

/** A secret of the source's own form. */
const secrets: Readonly<Record<string, string>> = {
  stripe: 'whsec_q8Zr4Lk2Wm7Tn1Bd9X',
  svix: 'whsec_q8Zr4Lk2Wm7Tn1Bd9XabcdefghijklmA',
  'standard-webhooks': 'whsec_q8Zr4Lk2Wm7Tn1Bd9XabcdefghijklmA',
  slack: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  meta: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  twilio: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  discord: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
  'discord-events': '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
  line: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  paddle: 'pdl_ntfset_q8Zr4Lk2Wm7Tn1Bd9X',
  paypal: '9XL90610J3647323C',
  'aws-sns': 'arn:aws:sns:eu-central-1:123456789012:alarms',
  'google-pubsub': 'push@my-project.iam.gserviceaccount.com',
  'google-chat': '123456789012',
  sendgrid: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC',
};

t.test('SUB-4 · SIG-1 · each sample is genuine by the scheme of its platform, and by no other secret', (t) => {
  for (const name of sampleNames.filter((one) => /^git(?:hub|lab):/.test(one))) {
    const { headers, body } = seal(name, { secret, id: 'one-1' });
    const request = { headers, body: Buffer.from(body), nowMs: 0 };
    const scheme = name.startsWith('github:') ? 'github' : 'gitlab';
    t.match(signatureVerifier({}, { kind: 'shared', secret })(request), { kind: 'genuine', scheme }, name);
    t.equal(signatureVerifier({}, { kind: 'shared', secret: 'another-secret' })(request).kind, 'refused', name);
    const payload = readJson(body);
    if (!isJsonObject(payload)) return t.fail(`${name} is no object`);
    t.equal(deliveryIdOf(headers, request.body), 'one-1', name);
    const type = eventTypeOf(headers, payload).toLowerCase().replace(' hook', '').replace(' ', '_');
    const [, action] = name.split('.');
    t.equal(`${name.split(':')[0]}:${type}${action === undefined ? '' : `.${action}`}`, name);
    const acted = (payload.object_attributes as { action?: string } | undefined)?.action ?? payload.action;
    t.equal(acted, action, `${name} carries its action`);
  }
  t.same(Object.keys(seal('github:ping', { id: '1' }).headers), ['x-github-event', 'x-github-delivery']);
  t.end();
});

t.test('SUB-4 · SRC-1 · each source has samples of two events, which it takes as its provider would send them', (t) => {
  for (const name of sourceNames) {
    const events = sampleNames
      .filter((sample) => sample.startsWith(`${name}:`))
      .map((sample) => sample.slice(name.length + 1));
    t.ok(events.length >= (name === 'dropbox' ? 1 : 2), `${name}, of which Dropbox has but one`);
    const given = secrets[name] ?? 'a-secret-of-the-sender-0123';
    const source: Source = sources[name];
    const written =
      source.secretKey === 'verify_token' ? { verify_token: given } : { secret: given, verify_token: 'v' };
    const read = readRoute('in', { source: name, ...written } as JsonObject, {
      source: 'static',
      profile: defaultProfile,
      host: '0.0.0.0',
      publicUrl,
      checkFilters: () => [],
    });
    if (!read.ok) return t.fail(`${name}: ${read.findings.map(({ message }) => message).join()}`);
    const route = compileRoute(read.value);
    for (const event of events) {
      const sample = `${name}:${event}`;
      const hasMarker = ![
        'discord',
        'discord-events',
        'sendgrid',
        'paypal',
        'aws-sns',
        'google-pubsub',
        'google-chat',
      ].includes(name);
      const read = ids.map((id) => {
        const { headers, body, query } = seal(sample, { secret: given, route: route.route, id });
        const parsed = parseBody(body, headers, route.body);
        if (!parsed.ok) throw new Error(parsed.why);
        if (name === 'slack') t.match(body, /"channel":"C[A-Z0-9]{8,}"/, 'a channel that an answer can go to');
        const split = route.body.shape === 'each' ? splitItems(parsed, route.body.items) : undefined;
        const payload = (split?.ok === true ? split.items[0] : undefined) ?? parsed.value;
        const request = { headers, body: Buffer.from(body), nowMs, path, query, payload: () => parsed.value };
        const verdict = route.verify(request);
        t.equal(verdict.kind, hasMarker ? 'genuine' : 'refused', `${sample}: ${JSON.stringify(verdict)}`);
        // A message of Gmail has no type.
        const type = event === 'gmail' ? 'unknown' : event;
        if (name !== 'github' && name !== 'gitlab') t.equal(route.eventType(headers, payload), type, sample);
        return route.deliveryId(headers, payload, request.body, false);
      });
      if (source.id.length > 0 || source.bodyDiffersBy !== undefined) {
        t.ok(read[0] !== undefined && read[1] !== undefined, `${sample} has an id`);
        t.not(read[0], read[1], `${sample} has a fresh id each time`);
      }
    }
  }
  t.end();
});

t.test('SUB-4 · SRC-2 · each sample is genuine on a route with a scheme of its own, and on one with none', (t) => {
  const signature = { header: 'X-Acme', prefix: 'v=' };
  for (const written of [{ signature }, {}]) {
    const read = readRoute('in', { ...written, secret } as JsonObject, {
      source: 'static',
      profile: defaultProfile,
      host: '127.0.0.1',
      checkFilters: () => [],
    });
    if (!read.ok) return t.fail(read.findings.map(({ message }) => message).join());
    const route = compileRoute(read.value);
    for (const sample of sampleNames) {
      const sealed = seal(sample, { secret, route: route.route, id: ids[0] });
      // As node:http has them.
      const headers = Object.fromEntries(
        Object.entries(sealed.headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const verdict = route.verify({ headers, body: Buffer.from(sealed.body), nowMs, path, query: sealed.query });
      t.match(verdict, { kind: 'genuine' }, `${sample}: ${JSON.stringify(verdict)}`);
    }
  }
  t.end();
});

t.test('SUB-4 · a sample is found by its event where one platform has that', (t) => {
  t.same(findSample('pull_request.opened'), { ok: true, name: 'github:pull_request.opened' });
  t.same(findSample('gitlab:push'), { ok: true, name: 'gitlab:push' });
  t.match(findSample('push'), { ok: false, why: '"push" is github:push and gitlab:push and gitea:push; name one' });
  t.same(findSample('push', 'gitea'), { ok: true, name: 'gitea:push' }, 'the source of the route is meant');
  t.same(findSample('jira:issue_created'), { ok: true, name: 'jira:jira:issue_created' });
  t.match(findSample('stripe:nothing.known'), {
    ok: false,
    why: /; known are stripe:checkout.session.completed, stripe:invoice/,
  });
  t.match(findSample('github:pusk'), { ok: false, why: /did you mean "github:push"/ });
  t.match(findSample('checkout'), {
    ok: false,
    why: /no sample is named "checkout"; known are stripe:checkout.session.completed$/,
  });
  t.match(findSample('zzz'), { ok: false, why: /no sample is named "zzz"; docs\/sources.md lists/ });
  t.end();
});

t.test('SRC-1 · the benchmark verifies and reads a genuine request of each source', (t) => {
  const costs = measurePresets({ sizes: [200], rounds: 1, requests: 1 });
  t.strictSame(
    costs.map(({ preset }) => preset),
    sourceNames,
  );
  t.end();
});
