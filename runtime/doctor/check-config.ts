/**
 * Looks at what the home's files say: every finding of the configuration, broken subscriptions, and references to
 * variables that nothing sets.
 * @see CFG-2, INT-1 and CLI-2 in docs/specification.md
 */

import { findLooseEnds } from '../../actors/config/route-world.ts';
import { isJsonObject, type Json } from '../../machines/base/json.ts';
import { unresolvedReference } from '../../machines/config/interpolate.ts';
import { createSourceReader } from '../route-sources.ts';
import { type Examined, type Finding, good } from './finding.ts';

export function checkConfig({ home, gateway }: Examined): readonly Finding[] {
  const findings: Finding[] = home.diagnostics.map((found) => ({
    level: found.severity === 'error' ? 'wrong' : 'warning',
    area: 'config',
    code: 'config-finding',
    place: found.line === 0 ? found.file : `${found.file}:${found.line}:${found.column}`,
    what: `${found.message} [${found.code}]`,
    cure: '`agent config check` shows the line',
  }));
  const { subscriptions } = createSourceReader({ log: { log: () => {}, warnOnce: () => {} }, learn: () => {} }).read(
    home,
  );
  const looseEndsOf = findLooseEnds(home);
  for (const [profile, store] of subscriptions) {
    const { routes, problems, fault } = store.current();
    const file =
      profile === 'default' ? 'webhook_subscriptions.json' : `profiles/${profile}/webhook_subscriptions.json`;
    const told = [
      ...problems,
      ...(fault === undefined ? [] : [{ name: '', message: fault.message, code: fault.code }]),
    ];
    for (const { name, message, code } of told) {
      findings.push({
        level: 'warning',
        area: 'config',
        code: 'subscription-finding',
        place: name === '' ? file : `${file}: ${name}`,
        what: `${message} [${code}]`,
        cure: name === '' ? 'mend the file, or move it away' : `agent webhook remove ${name}, and subscribe it anew`,
      });
    }
    for (const { route } of routes) {
      for (const { message, code } of looseEndsOf(route)) {
        findings.push({
          level: 'warning',
          area: 'config',
          code: 'subscription-finding',
          place: `${file}: ${route.name}`,
          what: `${message} [${code}]`,
          cure: `once it is there, nothing more is to be done; agent webhook remove ${route.name} takes it away`,
        });
      }
    }
  }
  findings.push(...unsetVariables(home), ...refusedBy(gateway));
  return findings.length > 0 ? findings : [good('config', 'no findings')];
}

/** A gateway that works on with what it had: a person who edits the file sees no change, and wonders why. */
function refusedBy(gateway: Examined['gateway']): readonly Finding[] {
  const { fault } = (gateway?.status.config ?? {}) as { readonly fault?: string };
  if (fault === undefined) return [];
  return [
    {
      level: 'wrong',
      area: 'config',
      code: 'config-refused',
      place: 'the running gateway',
      what: `has refused the configuration on disk, and the last good one stays in force: ${fault}`,
      cure: 'mend what is named there, or what `agent config check` shows; then `agent gateway reload`',
    },
  ];
}

/** What still looks like a reference after everything that is set was put in. */
function unsetVariables(home: Examined['home']): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [profile, { settings }] of home.profiles) {
    const file = profile === 'default' ? 'config.yaml' : `profiles/${profile}/config.yaml`;
    const look = (value: Json, path: string): void => {
      if (Array.isArray(value)) for (const [index, item] of value.entries()) look(item as Json, `${path}.${index}`);
      else if (isJsonObject(value)) for (const [key, held] of Object.entries(value)) look(held, `${path}.${key}`);
      else if (typeof value === 'string') {
        const variable = unresolvedReference(value);
        if (variable === undefined || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable)) return;
        findings.push({
          level: 'warning',
          area: 'config',
          code: 'variable-unset',
          place: `${file}: ${path}`,
          what: `refers to ${variable}, which is not set`,
          cure: `put ${variable}=… into ${profile === 'default' ? '.env' : `profiles/${profile}/.env`}`,
        });
      }
    };
    for (const { name, enabled, entry } of settings.servers) if (enabled) look(entry, `mcp_servers.${name}`);
    for (const [name, { enabled, options }] of Object.entries(settings.platforms)) {
      if (enabled) look(options, `platforms.${name}`);
    }
    if (settings.agent.model?.apiKey !== undefined) look(settings.agent.model.apiKey, 'agent.model.api_key');
  }
  return findings;
}
