import t from 'tap';
import { isTroubled, readTokenRefusal } from '../../../machines/oauth/token-refusal.ts';
import { fc } from '../../support/property.ts';

t.test('OAU-4 · OAU-8 · a word of the standards is a decision, whatever good status it has', (t) => {
  for (const status of [200, 400, 401, 403]) {
    for (const code of ['invalid_client', 'incorrect_client_credentials'])
      t.equal(readTokenRefusal(code, status), 'clientRefused', `${status} ${code}`);
    for (const code of ['invalid_request', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'])
      t.equal(readTokenRefusal(code, status), 'refused', `${status} ${code}`);
    for (const code of ['invalid_scope', 'invalid_target', 'bad_refresh_token', 'bad_verification_code'])
      t.equal(readTokenRefusal(code, status), 'refused', `${status} ${code}`);
    for (const code of ['access_denied', 'interaction_required', 'login_required', 'consent_required'])
      t.equal(readTokenRefusal(code, status), 'refused', `${status} ${code}`);
    for (const code of ['server_error', 'temporarily_unavailable', 'slow_down', 'boom', ''])
      t.equal(readTokenRefusal(code, status), 'unreachable', `${status} ${code}`);
  }
  t.end();
});

t.test('OAU-8 · no word of a server in trouble is a decision', (t) => {
  const code = fc.oneof(fc.constantFrom('invalid_grant', 'invalid_client'), fc.string());
  const status = fc.oneof(fc.constantFrom(undefined, 408, 429), fc.integer({ min: 500, max: 599 }));
  fc.assert(fc.property(code, status, (word, of) => isTroubled(of) && readTokenRefusal(word, of) === 'unreachable'));
  for (const of of [200, 400, 401, 403, 407, 409, 428, 499]) t.notOk(isTroubled(of), String(of));
  t.end();
});
