/**
 * Checks secrets: weak ones that the configuration's own findings do not report, routes that check no signature, and
 * secrets in a config.yaml, which people share. Prints no secret.
 * @see SIG-5, SEC-6 and CLI-2 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import type { LoadedHome, LoadedProfile } from '../../actors/config/load-config.ts';
import { isJsonObject, type Json } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import { parseDocument } from '../../machines/config/document.ts';
import { isPublic, weakOutside } from '../../machines/config/read-secret.ts';
import { hasPublicSecret } from '../../machines/config/read-signature.ts';
import { type RouteWithSecret, textsOfSecret } from '../../machines/config/route.ts';
import { insecureSecret, weaknessOf } from '../../machines/config/secret-strength.ts';
import { configFile } from '../control/config-view.ts';
import { isSecretName } from '../observe/redact.ts';
import { type Examined, type Finding, good, routesIn } from './finding.ts';

/** The key that `gateway setup` writes. */
const globalSecret = 'platforms.webhook.extra.secret';

export function checkSecrets({ home }: Examined): readonly Finding[] {
  const findings: Finding[] = [];
  const globals = new Set<string>();
  for (const profile of home.profiles.values()) {
    const { secret } = profile.settings.webhook;
    // A profile without a secret of its own uses the home's.
    if (secret !== undefined && !globals.has(secret)) findings.push(...weakGlobal(secret, profile.name, home));
    if (secret !== undefined) globals.add(secret);
    findings.push(...openSecrets(profile));
  }
  const routes = routesOf(home);
  for (const one of routes) findings.push(...unsigned(one, home), ...weakOwn(one, home, globals));
  if (findings.length > 0) return findings;
  const readable = home.webhookBlocked.length > 0 ? 'readable ' : '';
  const counted = `${routes.length} ${readable}${routes.length === 1 ? 'route' : 'routes'}`;
  return [good(`${counted}, none with a weak secret`)];
}

/** Where others can reach the listener, the configuration reports weak secrets, except those of subscriptions. */
function unreportedWeakness(secret: string, { main }: LoadedHome, route?: string): string | undefined {
  return weakOutside({ secret, route }, main.settings.webhook) === undefined ? weaknessOf(secret, route) : undefined;
}

function envOf(profile: ProfileName): string {
  return profile === defaultProfile ? '.env' : `profiles/${profile}/.env`;
}

function weakGlobal(secret: string, profile: ProfileName, home: LoadedHome): readonly Finding[] {
  const what = unreportedWeakness(secret, home);
  if (what === undefined) return [];
  const isHome = profile === defaultProfile;
  return [
    {
      level: 'warning',
      code: 'secret-weak',
      place: isHome ? 'the global webhook secret' : `the webhook secret of profile ${profile}`,
      what,
      cure: isHome
        ? 'agent gateway setup --secret generate, and enter the new one at the senders'
        : `make a longer one, such as by \`openssl rand -hex 32\`, and put it into ${envOf(profile)} as WEBHOOK_SECRET`,
    },
  ];
}

function openSecrets({ name, paths }: LoadedProfile): readonly Finding[] {
  return literals(parseDocument(textOf(paths.config)).value).map((path) => ({
    level: 'note',
    code: 'secret-open',
    place: `${configFile(name)}: ${path}`,
    what: 'lies in the configuration itself',
    cure:
      name === defaultProfile && path === globalSecret
        ? 'agent gateway setup --secret … moves it into .env'
        : `move it into ${envOf(name)} and write \${NAME} in its place`,
  }));
}

function unsigned({ route, secret }: RouteWithSecret, { main }: LoadedHome): readonly Finding[] {
  // A public address beside it is a finding of the configuration.
  if (secret.kind !== 'insecure' || isPublic(main.settings.webhook.publicUrl)) return [];
  return [
    {
      level: 'warning',
      code: 'unsigned-route',
      place: placeOf(route),
      what: 'checks no signature; anyone who reaches the port may use it',
      cure: 'give it a secret in place of INSECURE_NO_AUTH',
    },
  ];
}

function weakOwn(
  { route, secret }: RouteWithSecret,
  home: LoadedHome,
  globals: ReadonlySet<string>,
): readonly Finding[] {
  const texts = hasPublicSecret(route) ? [] : textsOfSecret(secret);
  return texts.flatMap((text, at): readonly Finding[] => {
    if (globals.has(text)) return [];
    const what = route.source === 'dynamic' ? weaknessOf(text, route.name) : unreportedWeakness(text, home, route.name);
    if (what === undefined) return [];
    return [
      {
        level: 'warning',
        code: 'secret-weak',
        // While secrets are exchanged, a route has several.
        place: `${texts.length === 1 ? 'the secret' : `secret ${at + 1}`} of ${placeOf(route)}`,
        what,
        cure: 'make a longer one, such as by `openssl rand -hex 32`',
      },
    ];
  });
}

function placeOf({ name, profile }: RouteWithSecret['route']): string {
  return `route ${name}${profile === defaultProfile ? '' : ` of profile ${profile}`}`;
}

function routesOf(home: LoadedHome): readonly RouteWithSecret[] {
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
