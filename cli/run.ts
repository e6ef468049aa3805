/**
 * Runs a command line and returns the exit code. Loads only what the command needs.
 * @see CLI-2 in docs/specification.md
 */

import { resolve } from 'node:path';
import { unwritableFault } from '../actors/files.ts';
import { placedPaths } from '../actors/socket-place.ts';
import { userHomeFolder } from '../actors/user-home.ts';
import { isJsonObject } from '../machines/base/json.ts';
import { homeOf, runSocketOf } from '../machines/config/profile.ts';
import { askOnce, ConnectionLost } from '../runtime/control/client.ts';
import { createAsk, HomeRefused, hungWords, NotRunning } from './call.ts';
import { agentOf, type ExitCode, type GatewayPlace, type Output, withHomeNamed } from './context.ts';
import { standardOutput } from './output.ts';
import { parseWords } from './parse.ts';
import { plain } from './terminal.ts';
import { version } from './version.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export async function runWords(
  words: readonly string[],
  environment: Environment = process.env,
  out: Output = standardOutput(environment),
): Promise<ExitCode> {
  const parsed = parseWords(words);
  switch (parsed.kind) {
    case 'help': {
      const { helpOn } = await import('./help.ts');
      out.print(helpOn(parsed.path, out));
      return 0;
    }
    case 'version':
      out.print(`${version()}\n`);
      return 0;
    case 'misused':
      out.complain(`agent: ${parsed.message}\n${parsed.cure}\n`);
      return 2;
    case 'command': {
      const { command, args, flags } = parsed;
      const given = flags.home;
      const env = typeof given === 'string' ? withHome(environment, given) : environment;
      const place = placeOf(env);
      if (place === undefined) {
        const [name, thing] = runSocketOf(env) === undefined ? ['AGENT_HOME', 'folder'] : ['AGENT_SOCKET', 'socket'];
        out.complain(`agent: ${name} is empty, which names no ${thing}; set it to one, or unset it for ~/.agent\n`);
        return 2;
      }
      const gateway = {
        ...place,
        ...(given === undefined ? {} : { isNamed: true }),
        ...(typeof flags.node === 'string' ? { node: flags.node } : {}),
      };
      const complain = (text: string): void => out.complain(withHomeNamed(gateway, text));
      try {
        const run = await command.load();
        const ask = createAsk({ gateway, env, complain });
        return await run({
          args,
          flags,
          gateway,
          env,
          out: {
            ...out,
            complain,
            // The width of a terminal may change.
            get columns() {
              return out.columns;
            },
          },
          ask,
          get home() {
            if (gateway.home === undefined) throw new HomeRefused();
            return gateway.home;
          },
        });
      } catch (thrown) {
        if (thrown instanceof NotRunning) {
          complain(`agent: ${thrown.message}\n`);
          return 3;
        }
        const { code, message } = (await ofOtherVersion(thrown, gateway)) ?? described(thrown, gateway);
        // Further lines are indented, so that they cannot imitate our own.
        complain(
          `agent: ${plain(message).replace(/\n(?=.)/g, '\n  ')}${typeof code === 'string' ? ` [${code}]` : ''}\n`,
        );
        return code === 'id-ambiguous' ? 2 : code === 'gateway-not-running' ? 3 : 1;
      }
    }
  }
}

/** A home named on the command line takes precedence over the socket of a run. */
function withHome({ AGENT_SOCKET: _, ...environment }: Environment, home: string): Environment {
  return { ...environment, AGENT_HOME: home };
}

/** Undefined if the variable that names it is empty. */
function placeOf(env: Environment): GatewayPlace | undefined {
  const socket = runSocketOf(env);
  if (socket !== undefined) return socket === '' ? undefined : { socket, home: undefined };
  const named = homeOf(env, userHomeFolder());
  if (named === undefined) return undefined;
  // Programs of the gateway work in other folders than this one, and the path is a part of names.
  const home = resolve(named);
  return { socket: placedPaths(home, env).socket, home };
}

interface Described {
  readonly code: unknown;
  readonly message: string;
}

/** A program's error beside a gateway of another version, whose answer lacks what this one reads. */
async function ofOtherVersion(thrown: unknown, place: GatewayPlace): Promise<Described | undefined> {
  const isOwn = (thrown instanceof TypeError || thrown instanceof RangeError) && !('code' in thrown);
  if (!isOwn) return undefined;
  const { socket, node } = place;
  const status = await askOnce(socket, 'gateway.status', node === undefined ? {} : { node }, 2_000);
  const other = isJsonObject(status) ? status.version : undefined;
  if (typeof other !== 'string' || other === version()) return undefined;
  const cure = `\`${agentOf(place)} gateway restart\` starts version ${version()}`;
  return {
    code: undefined,
    message: `the gateway is of version ${other}, whose answer cannot be read (${thrown.message}); ${cure}`,
  };
}

function described(thrown: unknown, gateway: GatewayPlace): Described {
  if (!(thrown instanceof Error)) return { code: undefined, message: String(thrown) };
  const { home } = gateway;
  const { code, message, syscall } = thrown as NodeJS.ErrnoException;
  if (syscall === 'uv_cwd')
    return { code: undefined, message: 'the folder of this shell was removed; `cd` to another' };
  if (thrown instanceof ConnectionLost && thrown.isHung) return { code, message: hungWords(gateway) };
  if (code === 'gateway-not-running')
    return { code, message: `${message}; start it with \`${agentOf(gateway)} gateway\`` };
  return (home === undefined ? undefined : unwritableFault(thrown, home)) ?? { code, message };
}
