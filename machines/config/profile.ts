/**
 * The paths of everything in a home and its profiles. The default profile is the home itself.
 * @see HOME-1 and HOME-2 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { type Fault, fault } from '../base/fault.ts';
import { defaultProfile, type ProfileName } from '../base/names.ts';

export interface ProfilePaths {
  readonly home: string;
  readonly config: string;
  readonly env: string;
  readonly subscriptions: string;
  readonly scripts: string;
  readonly skills: string;
  readonly cron: string;
  readonly jobs: string;
  readonly tokens: string;
  readonly cache: string;
}

/** The paths that only the home has: there is one daemon per home. */
export interface HomePaths extends ProfilePaths {
  readonly profiles: string;
  readonly socket: string;
  readonly lock: string;
  readonly logs: string;
  readonly state: string;
}

/** In bytes. Longer paths cannot be bound: the kernel's address holds 108 on Linux and 104 elsewhere. */
const maxSocketPathLength = 100;

export function homePaths(home: string, temporaryFolder = '/tmp'): HomePaths {
  return {
    ...pathsUnder(home),
    profiles: `${home}/profiles`,
    socket: socketIn(home, 'gateway.sock', temporaryFolder),
    lock: `${home}/gateway.lock`,
    logs: `${home}/logs`,
    state: `${home}/state`,
  };
}

export function profilePaths(home: string, profile: ProfileName): ProfilePaths {
  return pathsUnder(profile === defaultProfile ? home : `${home}/profiles/${profile}`);
}

/**
 * Returns the socket of a run (SEC-4), which AGENT_SOCKET names for its program; undefined outside of a run. It takes
 * precedence over AGENT_HOME, which a program may inherit from an environment other than its run's.
 */
export function runSocketOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return env.AGENT_SOCKET;
}

/**
 * The home: AGENT_HOME, else `.agent` in the user's home. Undefined if AGENT_HOME is empty: a variable that was left
 * unfilled must not silently select another home.
 */
export function homeOf(env: Readonly<Record<string, string | undefined>>, userHome: string): string | undefined {
  const given = env.AGENT_HOME;
  if (given === undefined) return `${userHome}/.agent`;
  if (given === '') return undefined;
  // A shell expands no `~` in quotes, and systemd none at all.
  const path = given.replace(/^~(?=\/|$)/, userHome);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The fault for a home that is not writable, shared by the daemon and commands. */
export function unwritableHome(home: string, cause: string): Fault {
  return fault(
    'home-unwritable',
    `home ${home}: cannot be written: ${cause}; make it a folder that you may write, with room on its disk, or set AGENT_HOME to another`,
    cause,
  );
}

function pathsUnder(folder: string): ProfilePaths {
  return {
    home: folder,
    config: `${folder}/config.yaml`,
    env: `${folder}/.env`,
    subscriptions: `${folder}/webhook_subscriptions.json`,
    scripts: `${folder}/scripts`,
    skills: `${folder}/skills`,
    cron: `${folder}/cron`,
    jobs: `${folder}/cron/jobs.json`,
    tokens: `${folder}/mcp-tokens`,
    cache: `${folder}/cache`,
  };
}

/** Whether a socket is outside its home, in a folder that another user may have created first. */
export function liesAside(socket: string): boolean {
  return asideFolder.test(socket);
}

const asideFolder = /\/agent-[0-9a-f]{24}\/(?:gateway|agent)\.sock$/;

/**
 * Returns the path of a folder's socket. If that is too long, the socket is in the temporary folder, with a name derived
 * from the folder.
 */
export function socketIn(folder: string, name: 'gateway.sock' | 'agent.sock', temporaryFolder = '/tmp'): string {
  const path = `${folder}/${name}`;
  if (new TextEncoder().encode(path).length <= maxSocketPathLength) return path;
  const digest = createHash('sha256').update(folder).digest('hex').slice(0, 24);
  return `${temporaryFolder}/agent-${digest}/${name}`;
}
