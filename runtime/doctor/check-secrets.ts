/**
 * Looks at the secrets of the routes: weak ones, routes that check no signature, and secrets that lie in config.yaml, which
 * people show to each other. Names none of them.
 * @see SIG-5 and CLI-2 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { defaultProfile } from '../../machines/base/names.ts';
import { valueAt } from '../../machines/config/edit.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import { weaknessOf } from '../../machines/config/secret-strength.ts';

import { createSourceReader } from '../route-sources.ts';
import { type Examined, type Finding, good } from './finding.ts';

export function checkSecrets({ home, paths }: Examined): readonly Finding[] {
  const findings: Finding[] = [];
  const { webhook } = home.main.settings;
  const weak = webhook.secret === undefined ? undefined : weaknessOf(webhook.secret);
  if (weak !== undefined) {
    findings.push({
      level: 'warning',
      area: 'secrets',
      code: 'secret-weak',
      place: 'the global webhook secret',
      what: weak,
      cure: 'agent gateway setup --secret generate, and enter the new one at the senders',
    });
  }
  if (isLiteral(valueAt(textOf(paths.config), ['platforms', 'webhook', 'extra', 'secret']))) {
    findings.push({
      level: 'note',
      area: 'secrets',
      code: 'secret-open',
      place: 'config.yaml: platforms.webhook.extra.secret',
      what: 'lies in the configuration itself',
      cure: 'agent gateway setup --secret … moves it into .env',
    });
  }
  const routes = routesOf(home);
  for (const { route, secret } of routes) {
    const place = `route ${route.name}${route.profile === defaultProfile ? '' : ` of profile ${route.profile}`}`;
    if (secret.kind === 'insecure') {
      findings.push({
        level: 'warning',
        area: 'secrets',
        code: 'unsigned-route',
        place,
        what: 'checks no signature; whoever reaches the port may use it',
        cure: 'give it a secret in place of INSECURE_NO_AUTH',
      });
    } else if (secret.secret !== webhook.secret) {
      const own = weaknessOf(secret.secret);
      if (own === undefined) continue;
      findings.push({
        level: 'warning',
        area: 'secrets',
        code: 'secret-weak',
        place: `the secret of ${place}`,
        what: own,
        cure: 'make a longer one, such as by `openssl rand -hex 32`',
      });
    }
  }
  if (findings.length > 0) return findings;
  return [good('secrets', `${routes.length} ${routes.length === 1 ? 'route' : 'routes'}, none with a weak secret`)];
}

function routesOf(home: Examined['home']): readonly RouteWithSecret[] {
  const { configured, subscriptions } = createSourceReader({
    log: { log: () => {}, warnOnce: () => {} },
    learn: () => {},
  }).read(home);
  return [...configured, ...[...subscriptions.values()].flatMap((store) => store.current().routes)];
}

function isLiteral(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !value.includes('${') && value !== 'INSECURE_NO_AUTH';
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The findings of the configuration tell why.
    return '';
  }
}
