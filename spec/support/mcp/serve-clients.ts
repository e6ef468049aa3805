/** Clients of `agent mcp serve`, one of either era, each with a process of its own that ends with the spec. */

import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Test } from 'tap';
import { main } from '../daemon.ts';
import type { Gateway } from './gateway.ts';

/** How a program starts it, with further words such as `--toolsets`. */
export function serveCommand({ home }: Gateway, ...more: readonly string[]) {
  return {
    command: process.execPath,
    args: [main, 'mcp', 'serve', ...more],
    env: { ...(process.env as Record<string, string>), AGENT_HOME: home.path },
  };
}

export async function legacyServed(t: Test, gateway: Gateway, ...more: readonly string[]): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'spec', version: '1' });
  t.teardown(() => client.close());
  await client.connect(new LegacyStdio(serveCommand(gateway, ...more)));
  return client;
}

export async function modernServed(t: Test, gateway: Gateway, ...more: readonly string[]): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'spec', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  t.teardown(() => client.close());
  await client.connect(new ModernStdio(serveCommand(gateway, ...more)));
  return client;
}
