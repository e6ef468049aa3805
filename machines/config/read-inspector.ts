/**
 * Reads the inspector's section: its listener, the token for metrics, and who may sign in with a password. An unset
 * reference closes what it protects.
 * @see SEC-1 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { isLoopbackHost } from '../base/loopback.ts';
import { guestPattern } from '../base/names.ts';
import { declared } from './declared.ts';
import type { ConfigPath } from './document.ts';
import type { Findings } from './findings.ts';
import { type InterpolationScope, interpolate, unresolvedReference } from './interpolate.ts';
import { inspectorSchema } from './schema.ts';
import { weaknessOf } from './secret-strength.ts';
import type { InspectorSettings, PageUser } from './settings.ts';
import { resolvedProblem } from './validate.ts';

export function readInspector(findings: Findings, written: JsonObject, scope: InterpolationScope): InspectorSettings {
  const { enabled, host, port, public_url } = declared(inspectorSchema, written);
  const isUnread = findings.unreadAt(['inspector']);
  if (Object.keys(objectAt(written, 'users')).length > 0 && public_url === undefined) {
    const message =
      'inspector.users sign in by HTTPS alone; set inspector.public_url to the address of the proxy before the page';
    findings.report({ path: ['inspector', 'users'], message, code: 'public-url-missing' }, 'warning');
  }
  if (enabled && !isLoopbackHost(host) && public_url === undefined) {
    const message = `inspector.host "${host}" is no loopback address, so the page, the metrics and the readiness are not served; write 127.0.0.1, or set inspector.public_url to the address of the proxy before the page`;
    findings.report({ path: ['inspector', 'host'], message, code: 'public-url-missing' }, 'warning');
  }
  const users = isUnread.has('users') ? [] : readUsers(findings, objectAt(written, 'users'), scope);
  const publicUrl = isUnread.has('public_url') || public_url === undefined ? undefined : interpolate(public_url, scope);
  const wrong =
    typeof publicUrl === 'string'
      ? resolvedProblem('inspector.public_url', publicUrl, inspectorSchema.properties.public_url)
      : undefined;
  if (wrong !== undefined) findings.report({ path: ['inspector', 'public_url'], ...wrong });
  return defined({
    enabled,
    host,
    port,
    scrapeToken: readScrapeToken(findings, written.scrape_token, scope),
    publicUrl: typeof publicUrl !== 'string' || wrong !== undefined ? undefined : new URL(publicUrl).origin,
    users: users.length === 0 ? undefined : users,
  });
}

/** An empty or unset token matches no request: it must not open what it protects. A wrong type stops the home. */
function readScrapeToken(findings: Findings, written: Json | undefined, scope: InterpolationScope): string | undefined {
  const path = ['inspector', 'scrape_token'];
  if (typeof written !== 'string' || findings.isRefused(path)) return undefined;
  const token = interpolate(written, scope) as string;
  const unset = unresolvedReference(token);
  if (unset === undefined && token !== '') return token;
  const why = unset === undefined ? `"${written}" is empty` : `refers to "${unset}", which is not set`;
  const message = `inspector.scrape_token ${why}; /metrics and /ready answer 401 until it is set in .env or in the environment`;
  findings.report({ path, message, code: 'secret-unresolved' }, 'warning');
  return '';
}

/** Users without a usable password cannot sign in. */
function readUsers(findings: Findings, written: JsonObject, scope: InterpolationScope): readonly PageUser[] {
  return Object.entries(written).flatMap(([name, entry]) => {
    const { password: given, role } = isJsonObject(entry) ? entry : {};
    if (typeof given !== 'string') return [];
    const path: ConfigPath = ['inspector', 'users', name, 'password'];
    if (!guestPattern.test(name)) {
      const message = `inspector.users: "${name}" is no name of 1 to 64 letters, digits and . _ @ + -; it cannot sign in`;
      findings.report({ path: path.slice(0, 3), message, code: 'user-name' }, 'warning');
      return [];
    }
    const password = interpolate(given, scope) as string;
    const unset = unresolvedReference(password);
    const weakness = weaknessOf(password);
    if (unset !== undefined) {
      const message = `inspector.users.${name}.password refers to "${unset}", which is not set; ${name} cannot sign in until it is set in .env or in the environment`;
      findings.report({ path, message, code: 'secret-unresolved' }, 'warning');
    } else if (weakness !== undefined) {
      const message = `inspector.users.${name}.password ${weakness}; ${name} cannot sign in until it is stronger: \`openssl rand -base64 18\` makes one`;
      findings.report({ path, message, code: 'secret-weak' }, 'warning');
    } else return [role === 'reader' ? { name, password, role } : { name, password }];
    return [];
  });
}
