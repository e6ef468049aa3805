/** `agent gateway service`: prints a systemd unit, or a launchd agent. @see CLI-2 and PKG-1 in docs/specification.md */

import { realpathSync } from 'node:fs';
import { causeOf } from '../../machines/base/fault.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { type CommandContext, type ExitCode, hasFlag, refuse, textFlag } from '../context.ts';
import { launchdPlist } from '../launchd-plist.ts';
import { hiddenFromUnit, systemdUnit, systemHome } from '../systemd-unit.ts';
import { oneLine } from '../terminal.ts';

const defaultDrainSeconds = 30;

export async function printService(context: CommandContext): Promise<ExitCode> {
  const [flag, other] = ['user', 'system', 'launchd'].filter((name) => hasFlag(context, name));
  if (other !== undefined) return refuse(context, `--${flag} and --${other} exclude each other; give one of them`, 2);
  const scope = hasFlag(context, 'system') ? 'system' : 'user';
  const named = textFlag(context, 'home') ?? context.env.AGENT_HOME;
  const home = scope === 'system' && (named === undefined || named === '') ? systemHome : context.home;
  const paths = homePaths(home);
  const common = {
    node: process.execPath,
    program: realpathSync(process.argv[1] ?? ''),
    home,
    path: context.env.PATH ?? '',
    drainSeconds: await drainSecondsOf(context, home),
  };
  if (flag === 'launchd' || (flag === undefined && process.platform === 'darwin')) {
    const log = `${paths.logs}/gateway.log`;
    context.out.print(launchdPlist({ ...common, log }));
    return 0;
  }
  const hidden = scope === 'system' ? hiddenFromUnit([common.node, common.program]) : undefined;
  if (hidden !== undefined) {
    context.out.complain(
      `agent: ${oneLine(hidden)} is in a home folder, which this unit hides (ProtectHome=yes), so it would not start; install Node.js and the package outside of it, such as in /usr/local\n`,
    );
  }
  const hiddenHome = scope === 'system' ? hiddenFromUnit([home]) : undefined;
  if (hiddenHome !== undefined) {
    context.out.complain(
      `agent: the home ${oneLine(home)} is in a home folder, which this unit hides (ProtectHome=yes), so it would not start; choose one outside of it, such as --home ${systemHome}\n`,
    );
  }
  context.out.print(systemdUnit({ ...common, scope, socketInHome: paths.socket.startsWith(`${home}/`) }));
  return 0;
}

/** Read from the configuration now; edit the unit if the setting changes. */
async function drainSecondsOf({ out }: CommandContext, home: string): Promise<number> {
  const [{ valueAt }, { readText }] = await Promise.all([
    import('../../machines/config/edit.ts'),
    import('../../actors/files.ts'),
  ]);
  const { config } = homePaths(home);
  // The home of a unit for the machine belongs to another user.
  const text = await readText(config).catch((thrown: unknown) => {
    const why = oneLine(causeOf(thrown));
    out.complain(
      `agent: ${oneLine(config)} cannot be read (${why}), so the unit allows for a drain of ${defaultDrainSeconds} s\n`,
    );
    return undefined;
  });
  const given = valueAt(text ?? '', ['gateway', 'drain_timeout_seconds']);
  return typeof given === 'number' ? Math.ceil(given) : defaultDrainSeconds;
}
