/**
 * Connects to one server once, independent of the live connections, and reports what it offers: for adding and testing a
 * server. Leaves nothing behind.
 * @see CLI-5 and LIF-1 in docs/specification.md
 */

import { dirname } from 'node:path';
import { openSession } from '../../actors/mcp/open-session.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import { renewalsSettled } from '../../actors/oauth/renewal.ts';
import type { Logger } from '../../actors/ports.ts';
import { isFolder } from '../../actors/process-group.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import { isReadOnly, needsApproval, type ToolAnnotations } from '../../machines/mcp/trust.ts';
import type { ProbeReport } from '../control/contract/servers.ts';
import { authorised, readFailures } from './oauth-access.ts';
import { toolsOf } from './registry.ts';

export interface ProbePorts {
  readonly profile: string;
  /** The profile's home: the working folder of a command without `cwd`. It need not exist. */
  readonly home: string;
  /** The profile's credentials, whose tokens the test uses. */
  readonly credentials: Credentials;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The name of this gateway in listings; undefined if none runs in this process. */
  readonly gateway?: string | undefined;
  readonly nowMs: () => number;
  readonly signal?: AbortSignal;
}

const keptStderrBytes = 8_192;
const keptStderrLines = 20;

const silent: Logger = { log: () => {}, warnOnce: () => {} };
const declined = { kind: 'answered', result: { action: 'decline' } } as const;

/** The folder itself, or the nearest one above it that exists: a server can be tested before its home is created. */
function existingFolder(path: string): string {
  return isFolder(path) || path === dirname(path) ? path : existingFolder(dirname(path));
}

export async function probeServer(settings: ServerSettings, ports: ProbePorts): Promise<ProbeReport> {
  const { env, version, profile, credentials, gateway } = ports;
  const { unset = [] } = settings;
  const beganAt = performance.now();
  let stderr = Buffer.alloc(0);
  const userHome = userHomeFolder();
  const verdict = await openSession(
    settings,
    {
      transport: {
        log: silent,
        onStderr: (chunk) => {
          stderr = Buffer.concat([stderr, chunk]).subarray(-keptStderrBytes);
        },
        cwd: existingFolder(ports.home),
        userHome,
        env,
        version,
        ...authorised(settings, { ...ports, userHome, log: silent }),
      },
      facts: { closed: () => {}, expired: () => {}, listChanged: () => {}, logged: () => {} },
      requests: {
        elicit: () => Promise.resolve(declined),
        sample: () => Promise.resolve({ kind: 'refused', reason: 'nothing is sampled during a test' }),
      },
      handshake: { get: () => undefined, set: () => {} },
      gateway,
    },
    ports.signal ?? new AbortController().signal,
  );
  if (verdict.kind === 'failed') {
    // The process may exit after the test, so a renewal in progress is awaited.
    await renewalsSettled(credentials);
    const { after, why } = readFailures(settings, verdict.failures, {
      profile,
      credentials,
      hasLog: false,
      hasConnected: false,
      nowMs: ports.nowMs,
    });
    const [first = '', ...others] = stderr.toString('utf8').split(/\r?\n/);
    // The beginning of what was cut may be half a secret.
    const lines = stderr.length < keptStderrBytes || others.length === 0 ? [first, ...others] : others;
    const said = lines.filter((line) => line.trim() !== '').slice(-keptStderrLines);
    return {
      ok: false,
      // A missing key is often why it fails.
      error: [why, ...unset].join('; it '),
      ...(after === 'needsLogin' ? { needs_login: true } : {}),
      ...(verdict.failures.some((failure) => failure.kind === 'http' && failure.namesOauth)
        ? { names_oauth: true }
        : {}),
      ...(said.length === 0 ? {} : { stderr: said.map(stripTags) }),
    };
  }
  const { session, listing } = verdict;
  await session.close();
  await renewalsSettled(credentials);
  const { tools, unusable, idle, filtered } = toolsOf(settings, listing);
  const leftOut = [...unusable, ...idle, ...unset];
  return {
    ok: true,
    era: session.era,
    milliseconds: Math.round(performance.now() - beganAt),
    tools: tools.map(({ name, tool, definition }) => {
      const annotations = definition.annotations as ToolAnnotations | undefined;
      return {
        name,
        tool: stripTags(tool),
        description: String(definition.description ?? ''),
        asks: needsApproval(settings.trust, annotations),
        read_only: isReadOnly(annotations),
      };
    }),
    filtered,
    ...(leftOut.length === 0 ? {} : { left_out: leftOut }),
    ...(listing.instructions === undefined ? {} : { instructions: listing.instructions }),
  };
}
