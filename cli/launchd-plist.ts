/**
 * The launchd agent of the gateway on macOS, as a property list. Writes nothing.
 * @see PKG-1 in docs/specification.md; `man launchd.plist` has the keys
 */

import { graceSeconds, type UnitInput } from './systemd-unit.ts';

interface PlistInput extends Omit<UnitInput, 'scope' | 'socketInHome'> {
  /** An absolute path, in an existing folder. */
  readonly log: string;
}

type Plist = string | number | boolean | readonly string[] | { readonly [key: string]: Plist };

export function launchdPlist({ node, program, home, path, log, drainSeconds }: PlistInput): string {
  const keys = {
    Label: 'agent-gateway',
    ProgramArguments: [node, program, 'gateway', 'run'],
    EnvironmentVariables: { AGENT_HOME: home, PATH: path },
    RunAtLoad: true,
    // A clean exit, such as after `agent gateway stop`, is not restarted.
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    // SIGTERM drains; launchd kills what still runs after that.
    ExitTimeOut: drainSeconds + graceSeconds,
    Umask: 0o077,
    SoftResourceLimits: { NumberOfFiles: 65_536 },
    StandardOutPath: log,
    StandardErrorPath: log,
  };
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Save as ~/Library/LaunchAgents/agent-gateway.plist, make the folder of its log (StandardErrorPath), then:
       agent gateway stop   # where one runs in the background: a home has one gateway
       launchctl bootstrap gui/$UID ~/Library/LaunchAgents/agent-gateway.plist
     To end it: launchctl bootout gui/$UID/agent-gateway -->
<plist version="1.0">
${element(keys, '')}
</plist>
`;
}

function element(value: Plist, indent: string): string {
  if (typeof value === 'boolean') return `${indent}<${value}/>`;
  if (typeof value === 'number') return `${indent}<integer>${value}</integer>`;
  if (typeof value === 'string') return `${indent}<string>${escaped(value)}</string>`;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    return `${indent}<array>\n${value.map((one: Plist) => element(one, deeper)).join('\n')}\n${indent}</array>`;
  }
  const pairs = Object.entries(value).map(([key, one]) => `${deeper}<key>${key}</key>\n${element(one, deeper)}`);
  return `${indent}<dict>\n${pairs.join('\n')}\n${indent}</dict>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
