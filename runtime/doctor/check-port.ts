/**
 * Checks whether the gateway's addresses are its own or still free, and who can reach them.
 * @see ADP-1 and CLI-2 in docs/specification.md
 */

import { bindingFault, whyUnbound } from '../../actors/binding.ts';
import { holderOf } from '../../actors/lock-file.ts';
import { isLoopback } from '../../machines/base/loopback.ts';
import type { ListenerStatus } from '../control/contract/gateway.ts';
import { type Examined, type Finding, good } from './finding.ts';

interface Address {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The fix: how to choose another address. */
  readonly change: string;
  /** The level of a finding if the address cannot be bound. */
  readonly level: 'warning' | 'wrong';
}

export async function checkPort(
  { home, paths, gateway }: Examined,
  platform = process.platform,
): Promise<readonly Finding[]> {
  // A gateway that does not answer, or whose lock cannot be read, may have its own addresses bound.
  if (gateway === undefined && ['living', 'making'].includes(holderOf(paths.lock).kind)) return [];
  const { webhook, inspector } = home.main.settings;
  const own: Address = { name: 'webhooks', host: webhook.host, port: webhook.port, level: 'wrong', change: newPort };
  const page: Address = {
    name: 'the inspector',
    ...inspector,
    level: 'warning',
    change: 'set inspector.port in config.yaml',
  };
  const findings: Finding[] = [];
  let where = `${webhook.host}:${webhook.port === 0 ? 'any free port' : `${webhook.port} is free`}`;
  if (gateway === undefined) {
    if (webhook.enabled) findings.push(...(await bindable(own, platform)));
    if (inspector.enabled) findings.push(...(await bindable(page, platform)));
  } else {
    findings.push(...silentPage(gateway.status.inspector, `${inspector.host}:${inspector.port}`));
  }
  if (gateway !== undefined && webhook.enabled) {
    const { url, fault } = gateway.status.webhook;
    where = `listens on ${url}`;
    if (url !== null && fault !== undefined) {
      findings.push({
        level: 'wrong',
        code: 'config-refused',
        place: `${webhook.host}:${webhook.port}`,
        what: fault,
        cure: 'fix what it says, then agent gateway reload',
      });
    }
    if (url === null) {
      // The findings of the file are listed above.
      const isListed = home.webhookBlocked.some(({ message }) => fault?.includes(message) === true);
      findings.push({
        level: 'wrong',
        code: 'not-listening',
        place: `${webhook.host}:${webhook.port}`,
        what: isListed
          ? 'the gateway does not listen until its findings are corrected'
          : (fault ?? 'the gateway does not listen'),
        cure: 'fix what it says, then agent gateway reload',
      });
    }
  }
  if (findings.length > 0) return findings;
  if (!webhook.enabled) return [good('webhooks are not enabled; nothing listens for them')];
  return [good(where), ...widely(webhook)];
}

const newPort = 'agent gateway setup --port <port>';

function silentPage({ fault }: ListenerStatus, place: string): readonly Finding[] {
  if (fault === undefined) return [];
  const cure = 'fix what it says, then agent gateway reload';
  return [{ level: 'warning', code: 'not-listening', place, what: fault, cure }];
}

function widely({ host, port }: { readonly host: string; readonly port: number }): readonly Finding[] {
  if (isLoopback(host)) return [];
  return [
    {
      level: 'note',
      code: 'bound-widely',
      place: `${host}:${port}`,
      what: 'can be reached from other machines, by plain HTTP',
      cure: 'outside a container, bind 127.0.0.1 behind a proxy that ends TLS: agent gateway setup --host 127.0.0.1',
    },
  ];
}

async function bindable(
  { name, host, port, change, level }: Address,
  platform: NodeJS.Platform,
): Promise<readonly Finding[]> {
  if (port === 0) return [];
  const code = await bindingFault(host, port);
  if (code === undefined) return [];
  const place = `${host}:${port}`;
  if (code === 'EADDRINUSE') {
    const shows = platform === 'linux' ? `ss -ltnp sport = :${port}` : `lsof -nP -iTCP:${port} -sTCP:LISTEN`;
    const cure = `\`${shows}\` shows by which program; end that, or take another port: ${change}`;
    return [
      {
        level,
        code: 'port-taken',
        place,
        what: `the port of ${name} is taken by another program`,
        cure,
      },
    ];
  }
  return [
    {
      level,
      code: 'port-refused',
      place,
      what: `${name} cannot be bound: ${whyUnbound(code)}`,
      cure: change,
    },
  ];
}
