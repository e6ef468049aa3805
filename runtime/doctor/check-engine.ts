/**
 * Checks what the gateway runs on: Node, the native modules, and the HTTP server that they allow. A running gateway is asked
 * which server it has.
 * @see CLI-2 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { isTooOld, oldestNode } from '../../machines/base/node-version.ts';
import { httpServerNames } from '../http/http-server.ts';
import type { NativeFault } from '../http/native.ts';
import { type Examined, type Finding, good } from './finding.ts';

/** What a gateway runs on. */
interface Engine {
  readonly node: string;
  /** Why LMDB cannot load; undefined if it can. */
  readonly lmdb: () => Promise<string | undefined>;
  readonly native: () => Promise<NativeFault | undefined>;
}

const here: Engine = { node: process.versions.node, lmdb: lmdbFault, native: nativeFault };

export async function checkEngine(
  { home, version, gateway }: Examined,
  engine: Partial<Engine> = {},
): Promise<readonly Finding[]> {
  const { front, journal } = home.main.settings.gateway;
  const { node, lmdb: whyNotLmdb, native: whyNotNative } = { ...here, ...engine };
  const findings: Finding[] = [];
  if (isTooOld(node)) {
    findings.push({
      level: 'wrong',
      code: 'node-old',
      place: 'Node',
      what: `is ${node}; ${oldestNode} is the oldest that works`,
      cure: 'install a newer Node',
    });
  }
  const running = gateway?.status.version;
  if (running !== undefined && running !== version) {
    findings.push({
      level: 'warning',
      code: 'restart-needed',
      place: 'the running gateway',
      what: `is of version ${running}, and this command of ${version}`,
      cure: 'agent gateway restart, or restart its service',
    });
  }
  const lmdb = journal === 'lmdb' ? await whyNotLmdb() : undefined;
  if (lmdb !== undefined) {
    findings.push({
      level: 'wrong',
      code: 'native-missing',
      place: 'lmdb',
      what: `cannot load: ${lmdb}`,
      // The binary is an optional package, which an npm that omits those leaves out.
      cure: 'install the package again on this machine, with --include=optional',
    });
  }
  // A service may have another Node and other libraries than this command. But a gateway that serves by node:http although
  // `uws` is set has refused that; whether the next one could listen is found out here.
  const { server, server_remark: remark } = gateway?.status.webhook ?? {};
  const itself: NativeFault | undefined = remark === undefined ? undefined : { kind: 'invalid', text: remark };
  const asksHere = server === undefined || (front === 'uws' && server !== httpServerNames.uws);
  const fault = front === 'node' ? undefined : ((asksHere ? await whyNotNative() : undefined) ?? itself);
  const usesNode =
    server === undefined ? front === 'node' || (fault !== undefined && front === 'auto') : server === 'node:http';
  // The library is not installed by default, so with `auto` its absence is no finding.
  if (fault !== undefined && !(front === 'auto' && fault.kind === 'absent')) {
    const isStuck = front === 'uws' && fault.kind !== 'invalid';
    findings.push({
      level: isStuck ? 'wrong' : front === 'uws' ? 'warning' : 'note',
      code: 'front-fallback',
      place: 'uWebSockets.js',
      what: `${fault.text}${isStuck ? '; webhooks do not listen' : usesNode ? '; node:http serves' : ''}`,
      cure:
        front === 'uws'
          ? 'set gateway.front to auto or node'
          : 'nothing need be done; `gateway.front: node` removes this warning',
    });
  }
  const used = httpServerNames[usesNode ? 'node' : 'uws'];
  return findings.length > 0
    ? findings
    : [good(`Node ${node}, ${process.platform} ${process.arch}, HTTP server ${used}, journal ${journal}`)];
}

async function nativeFault(): Promise<NativeFault | undefined> {
  const { faultOf, native } = await import('../http/choose.ts');
  return faultOf(native);
}

async function lmdbFault(): Promise<string | undefined> {
  try {
    const { loadLmdb } = await import('../../actors/store/load-lmdb.ts');
    loadLmdb();
    return undefined;
  } catch (thrown) {
    // The message ends with the remedy, which the finding has as its cure; the cause does not.
    return causeOf((thrown as Error).cause ?? thrown).split('\n')[0];
  }
}
