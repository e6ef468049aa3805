import t from 'tap';
import { describeDiscovery, type SeenAnswer } from '../../../machines/oauth/discovery-fault.ts';

const as = (status: number | string, path = 'oauth-authorization-server'): SeenAnswer => ({
  url: `https://as.example/.well-known/${path}`,
  status,
});
const resource = (status: number): SeenAnswer => ({
  url: 'https://mcp.example/.well-known/oauth-protected-resource/mcp',
  status,
});
const then = 'Registration failed: 404';

t.test('OAU-7 · failed fetches of metadata lead, with their statuses; then what came of going on', (t) => {
  t.equal(
    describeDiscovery([resource(404), as(502), as('no answer', 'openid-configuration')], then),
    'Could not read authorization-server metadata (404 from https://mcp.example/.well-known/oauth-protected-resource/mcp; 502 from https://as.example/.well-known/oauth-authorization-server; no answer from https://as.example/.well-known/openid-configuration): Registration failed: 404',
  );
  t.equal(
    describeDiscovery([as('200 with text/html')], then),
    'Could not read authorization-server metadata (200 with text/html from https://as.example/.well-known/oauth-authorization-server): Registration failed: 404',
  );
  t.end();
});

t.test('OAU-7 · SEC-5 · a place that is not requested is named with the reason, once', (t) => {
  const refusal = 'it is not served over https; ask the operator of the server';
  const refused = { ...as('no request'), refusal };
  const place = 'no request to https://as.example/.well-known/oauth-authorization-server';
  const begin = 'Could not read authorization-server metadata';
  t.equal(describeDiscovery([refused], then), `${begin} (${place}: ${refusal}): ${then}`);
  t.equal(describeDiscovery([refused, refused], refusal), `${begin} (${place}): ${refusal}`);
  t.end();
});

t.test('OAU-7 · where the metadata was read, what failed before it is no news', (t) => {
  for (const seen of [[], [resource(404), as(200)], [as(404), as(200, 'openid-configuration')]]) {
    t.equal(describeDiscovery(seen, then), then);
  }
  t.match(describeDiscovery([resource(200), as(404)], then), /^Could not read/, 'the resource alone is not enough');
  t.end();
});

t.test('OBS-1 · the query of an address is not shown', (t) => {
  const seen = [{ url: 'https://as.example/.well-known/x?token=abc#y', status: 500 }];
  t.match(describeDiscovery(seen, then), '(500 from https://as.example/.well-known/x)');
  t.end();
});
