/** Opens a session as the project does, and writes down the facts it reports. */

import { setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import type { CallOutcome } from '../../../actors/mcp/call-outcome.ts';
import { type OpenVerdict, openSession, type RequestHandlers } from '../../../actors/mcp/open-session.ts';
import type { CallOptions, Session, Settle } from '../../../actors/mcp/session.ts';
import type { TransportPorts } from '../../../actors/mcp/transports.ts';
import type { Logger } from '../../../actors/ports.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import type { Handshake } from '../../../machines/mcp/era.ts';
import type { OfferMethod } from '../../../machines/mcp/offers.ts';
import { readServerSettings, type ServerSettings } from '../../../machines/mcp/server-settings.ts';
import type { Utility } from '../../../machines/mcp/tool-name.ts';

export interface OpenFacts {
  readonly closed: string[];
  readonly logged: string[];
  changed: number;
  expired: number;
  handshake: Handshake | undefined;
}

export interface OpenOptions {
  readonly requests?: Partial<RequestHandlers>;
  readonly signal?: AbortSignal;
  readonly handshake?: Handshake;
  readonly log?: Logger;
}

const silent = { log: () => {}, warnOnce: () => {} };
/** What a transport needs beside its entry, for specs that look at neither log nor environment. */
export const quietPorts: TransportPorts = {
  log: silent,
  onStderr: () => {},
  cwd: process.cwd(),
  userHome: '/nowhere',
  env: {},
  version: '1.2.3',
};
const declined = { kind: 'answered', result: { action: 'decline' } } as const;

/** The settings of an entry of `mcp_servers`. */
export function settingsOf(entry: JsonObject, name = 'peer'): ServerSettings {
  return readServerSettings(normaliseServerEntry(name, entry));
}

/** Opens; what was opened is closed with the spec. */
export async function open(
  t: Test,
  entry: JsonObject,
  { requests = {}, signal = new AbortController().signal, handshake, log = silent }: OpenOptions = {},
): Promise<{ verdict: OpenVerdict; facts: OpenFacts }> {
  const facts: OpenFacts = { closed: [], logged: [], changed: 0, expired: 0, handshake };
  const verdict = await openSession(
    settingsOf(entry),
    {
      transport: { ...quietPorts, log },
      facts: {
        closed: (why) => void facts.closed.push(why),
        expired: () => {
          facts.expired += 1;
        },
        listChanged: () => {
          facts.changed += 1;
        },
        logged: (line) => void facts.logged.push(line),
      },
      requests: { elicit: () => Promise.resolve(declined), sample: () => Promise.resolve(declined), ...requests },
      handshake: {
        get: () => facts.handshake,
        set: (taken) => {
          facts.handshake = taken;
        },
      },
    },
    signal,
  );
  if (verdict.kind === 'opened') t.teardown(() => verdict.session.close());
  // What a connect leaves behind in this turn is part of it.
  await setImmediate();
  return { verdict, facts };
}

export interface PromisedOptions extends CallOptions {
  readonly signal?: AbortSignal;
}

/** A session whose calls are waited for. */
export function promised(session: Session) {
  const run = (begin: (settle: Settle) => () => void, signal?: AbortSignal): Promise<CallOutcome> =>
    new Promise((resolve) => {
      const cancel = begin(resolve);
      signal?.addEventListener('abort', cancel, { once: true });
    });
  return {
    ...session,
    call: (tool: string, args: JsonObject, { signal, ...options }: PromisedOptions = {}) =>
      run((settle) => session.call(tool, args, options, settle), signal),
    callUtility: (utility: Utility, args: JsonObject, { signal, ...options }: PromisedOptions = {}) =>
      run((settle) => session.callUtility(utility, args, options, settle), signal),
    ask: (method: OfferMethod, args: JsonObject, { signal, ...options }: PromisedOptions = {}) =>
      run((settle) => session.ask(method, args, options, settle), signal),
  };
}

/** Opens what must open. */
export async function opened(t: Test, entry: JsonObject, options: OpenOptions = {}) {
  const { verdict, facts } = await open(t, entry, options);
  if (verdict.kind === 'failed') throw new Error(`it did not open: ${JSON.stringify(verdict.failures)}`);
  return { session: promised(verdict.session), listing: verdict.listing, facts };
}
