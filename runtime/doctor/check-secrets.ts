/**
 * Checks secrets: weak ones that the configuration's own findings do not report, routes that check no signature, and
 * secrets in a config.yaml, which people share. Prints no secret.
 * @see SIG-5, SEC-6 and CLI-2 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { isJsonObject, type Json } from '../../machines/base/json.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { parseDocument } from '../../machines/config/document.ts';
import { isPublic, weakOutside } from '../../machines/config/read-secret.ts';
import { type RouteWithSecret, textsOfSecret } from '../../machines/config/route.ts';
import { insecureSecret, weaknessOf } from '../../machines/config/secret-strength.ts';
import { isSecretName } from '../observe/redact.ts';
import { type Examined, type Finding, good, routesIn } from './finding.ts';

/** The key that `gateway setup` writes. */
const globalSecret = 'platforms.webhook.extra.secret';

export function checkSecrets({ home }: Examined): readonly Finding[] {
  const { webhook } = home.main.settings;
  /** Where others can reach the listener, the configuration reports weak secrets, except those of subscriptions. */
  const weaknessHere = (secret: string, route?: string): string | undefined =>
    weakOutside({ secret, route }, webhook) === undefined ? weaknessOf(secret, route) : undefined;
  const findings: Finding[] = [];
  const shared = new Set<string>();
  for (const { name, paths, settings } of home.profiles.values()) {
    const { secret } = settings.webhook;
    const isHome = name === defaultProfile;
    const env = isHome ? '.env' : `profiles/${name}/.env`;
    // A profile without a secret of its own uses the home's.
    const weak = secret === undefined || shared.has(secret) ? undefined : weaknessHere(secret);
    if (secret !== undefined) shared.add(secret);
    if (weak !== undefined) {
      findings.push({
        level: 'warning',
        code: 'secret-weak',
        place: isHome ? 'the global webhook secret' : `the webhook secret of profile ${name}`,
        what: weak,
        cure: isHome
          ? 'agent gateway setup --secret generate, and enter the new one at the senders'
          : `make a longer one, such as by \`openssl rand -hex 32\`, and put it into ${env} as WEBHOOK_SECRET`,
      });
    }
    for (const path of literals(parseDocument(textOf(paths.config)).value)) {
      findings.push({
        level: 'note',
        code: 'secret-open',
        place: `${isHome ? '' : `profiles/${name}/`}config.yaml: ${path}`,
        what: 'lies in the configuration itself',
        cure:
          isHome && path === globalSecret
            ? 'agent gateway setup --secret … moves it into .env'
            : `move it into ${env} and write \${NAME} in its place`,
      });
    }
  }
  const routes = routesOf(home);
  for (const { route, secret } of routes) {
    const place = `route ${route.name}${route.profile === defaultProfile ? '' : ` of profile ${route.profile}`}`;
    // A public address beside it is a finding of the configuration.
    if (secret.kind === 'insecure' && !isPublic(webhook.publicUrl)) {
      findings.push({
        level: 'warning',
        code: 'unsigned-route',
        place,
        what: 'checks no signature; anyone who reaches the port may use it',
        cure: 'give it a secret in place of INSECURE_NO_AUTH',
      });
    }
    for (const text of textsOfSecret(secret)) {
      if (shared.has(text)) continue;
      const own = (route.source === 'dynamic' ? weaknessOf : weaknessHere)(text, route.name);
      if (own === undefined) continue;
      findings.push({
        level: 'warning',
        code: 'secret-weak',
        place: `the secret of ${place}`,
        what: own,
        cure: 'make a longer one, such as by `openssl rand -hex 32`',
      });
    }
  }
  if (findings.length > 0) return findings;
  const readable = home.webhookBlocked.length > 0 ? 'readable ' : '';
  const counted = `${routes.length} ${readable}${routes.length === 1 ? 'route' : 'routes'}`;
  return [good(`${counted}, none with a weak secret`)];
}

function routesOf(home: Examined['home']): readonly RouteWithSecret[] {
  const { configured, subscriptions } = routesIn(home);
  return [...configured, ...[...subscriptions.values()].flatMap((store) => store.current().routes)];
}

/** The dotted paths of texts under a secret's name that are not references. */
function literals(held: Json, path = '', isSecret = false): readonly string[] {
  if (typeof held === 'string') return isSecret && isLiteral(held) ? [path] : [];
  if (Array.isArray(held)) return held.flatMap((one, at) => literals(one, `${path}.${at}`, isSecret));
  if (!isJsonObject(held)) return [];
  // A route may be about passwords, and is no secret.
  const isNamed = /(?:^|\.)(?:routes|mcp_servers|users)$/.test(path);
  return Object.entries(held).flatMap(([name, inner]) => {
    // The key of a client certificate is the path of a file.
    const isOne = !isNamed && isSecretName(name) && name !== 'client_key';
    return literals(inner, path === '' ? name : `${path}.${name}`, isSecret || isOne);
  });
}

function isLiteral(value: string): boolean {
  return value !== '' && !value.includes('${') && value !== insecureSecret;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The findings of the configuration report the cause.
    return '';
  }
}
