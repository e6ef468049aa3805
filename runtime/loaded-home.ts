/** What the daemon does with a home that has just been read: reports its findings, teaches the redactor its secrets. */

import type { LoadedHome } from '../actors/config/load-config.ts';
import type { Logger } from '../actors/ports.ts';
import { printDiagnostic } from '../machines/config/diagnostic.ts';
import type { Redactor } from './redact.ts';

/** One log line per finding, printed as `config check` prints it. */
export function reportDiagnostics(home: LoadedHome, log: Logger): void {
  for (const found of home.diagnostics) {
    log.log(found.severity === 'error' ? 'error' : 'warn', printDiagnostic(found), { code: found.code });
  }
}

/** Teaches the redactor every secret that the home holds. */
export function learnSecrets(home: LoadedHome, redactor: Redactor): void {
  for (const { settings, scope } of home.profiles.values()) {
    for (const value of scope.values()) redactor.learn(value);
    if (settings.webhook.secret !== undefined) redactor.learn(settings.webhook.secret);
    for (const { secret } of settings.webhook.routes) if (secret.kind === 'shared') redactor.learn(secret.secret);
    for (const { options } of Object.values(settings.platforms)) {
      for (const value of Object.values(options)) if (typeof value === 'string') redactor.learn(value);
    }
    if (settings.agent.model?.apiKey !== undefined) redactor.learn(settings.agent.model.apiKey);
  }
}
