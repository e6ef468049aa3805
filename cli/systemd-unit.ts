/**
 * The systemd unit of the gateway, as text: for one user's manager, or for the machine under its own user. Hardened as far
 * as the MCP servers that it starts allow. Writes nothing.
 * @see CLI-2 and CON-2 in docs/specification.md
 */

import { shellWord } from '../machines/base/shell-word.ts';

export interface UnitInput {
  readonly scope: 'user' | 'system';
  /** Absolute paths. */
  readonly node: string;
  readonly program: string;
  readonly home: string;
  /** Where to look for the programs of agents and MCP servers: service managers search only system folders. */
  readonly path: string;
  /** Whether the socket is in the home; otherwise /tmp must not be private. */
  readonly socketInHome: boolean;
  readonly drainSeconds: number;
}

const name = 'agent-gateway';
/** Time needed beyond the drain: the last answers, ending the servers, closing the journal. */
export const graceSeconds = 35;
const systemUser = 'agent-gateway';

export function systemdUnit(input: UnitInput): string {
  return `${[...comments(input), '', ...unit, '', ...service(input), '', ...install(input)].join('\n')}\n`;
}

/** The home of a system unit: systemd creates the folder, private, for the unit's user. */
export const systemHome = `/var/lib/${name}`;

/** The first path that a system unit cannot read: `ProtectHome` hides these folders. */
export function hiddenFromUnit(paths: readonly string[]): string | undefined {
  return paths.find((path) => /^\/(?:home|root|run\/user)\//.test(path));
}

function comments({ scope, home }: UnitInput): readonly string[] {
  if (scope === 'user') {
    return [
      '# Save as ~/.config/systemd/user/agent-gateway.service, then:',
      '#   agent gateway stop              # where one runs in the background: a home has one gateway',
      '#   systemctl --user daemon-reload',
      '#   systemctl --user enable --now agent-gateway',
      '#   loginctl enable-linger          # to run it while no one is logged in',
      `# Its log: journalctl --user -u ${name}; its home: ${home}`,
    ];
  }
  return [
    '# Save as /etc/systemd/system/agent-gateway.service, then:',
    `#   useradd --system --home-dir ${systemHome} --shell /usr/sbin/nologin ${systemUser}`,
    // systemd makes its own folder alone.
    ...(home === systemHome ? [] : [`#   install -d -m 0700 -o ${systemUser} ${shellWord(home)}`]),
    '#   systemctl daemon-reload',
    '#   systemctl enable --now agent-gateway',
    `# Its log: journalctl -u ${name}; its home: ${home}. Commands for it:`,
    `#   sudo -u ${systemUser} agent --home ${shellWord(home)} gateway status`,
  ];
}

const unit = [
  '[Unit]',
  'Description=Agent Gateway: MCP servers and webhooks for agents',
  'After=network-online.target',
  'Wants=network-online.target',
  // systemd counts every start, those by hand too, and would leave the gateway down after a crash that follows a few of them.
  'StartLimitIntervalSec=0',
];

function service(input: UnitInput): readonly string[] {
  const { scope, home, node, program } = input;
  return [
    '[Service]',
    'Type=exec',
    ...(scope === 'system' ? [`User=${systemUser}`, ...ownFolder(home)] : []),
    // systemd reads the rest of this line as the path, including quotes. A user's home may be created by the first start.
    `WorkingDirectory=${scope === 'user' ? '-' : ''}${home.replaceAll('%', '%%')}`,
    `Environment=${quoted(`AGENT_HOME=${home}`)}`,
    ...(input.path === '' ? [] : [`Environment=${quoted(`PATH=${input.path}`)}`]),
    `ExecStart=${[node, program].map((word) => quoted(word).replaceAll('$', '$$$$')).join(' ')} gateway run`,
    'ExecReload=/bin/kill -HUP $MAINPID',
    'Restart=on-failure',
    'RestartSec=2',
    '# When memory runs out, the kernel ends one program, such as that of a run; systemd would stop the gateway for it.',
    'OOMPolicy=continue',
    '# SIGTERM drains; only what outlives that is killed, the servers too.',
    'KillMode=mixed',
    `TimeoutStopSec=${input.drainSeconds + graceSeconds}`,
    'UMask=0077',
    'LimitNOFILE=65536',
    ...hardening(input),
  ];
}

/** The folder that systemd creates for the unit, or the only folder it may write to. */
function ownFolder(home: string): readonly string[] {
  if (home !== systemHome) return [`ReadWritePaths=${quoted(home)}`];
  return [`StateDirectory=${name}`, 'StateDirectoryMode=0700'];
}

function hardening({ scope, socketInHome }: UnitInput): readonly string[] {
  const everywhere = [
    'NoNewPrivileges=yes',
    'LockPersonality=yes',
    'RestrictRealtime=yes',
    'RestrictSUIDSGID=yes',
    'SystemCallArchitectures=native',
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  ];
  // Hiding parts of the file system in a user's manager needs user namespaces, which not every machine allows.
  if (scope === 'user') return everywhere;
  return [
    ...everywhere,
    '# The servers are its children and live under these too. One that brings a sandbox of its own, such as a browser,',
    '# needs RestrictNamespaces=no; one that is to work in people’s folders needs ProtectHome=no.',
    'RestrictNamespaces=yes',
    'ProtectHome=yes',
    'ProtectSystem=strict',
    ...(socketInHome ? ['PrivateTmp=yes'] : []),
    'PrivateDevices=yes',
    'ProtectKernelTunables=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelLogs=yes',
    'ProtectControlGroups=yes',
    'ProtectClock=yes',
    'ProtectHostname=yes',
    'RemoveIPC=yes',
    'CapabilityBoundingSet=',
    'AmbientCapabilities=',
    'SystemCallFilter=@system-service',
    'SystemCallErrorNumber=EPERM',
  ];
}

function install({ scope }: UnitInput): readonly string[] {
  return ['[Install]', `WantedBy=${scope === 'user' ? 'default.target' : 'multi-user.target'}`];
}

/** A word of a unit: quoted if necessary, with `%` escaped. */
function quoted(word: string): string {
  const plain = word.replaceAll('\\', '\\\\').replaceAll('%', '%%').replaceAll('"', '\\"');
  return /[\s"'\\;]/.test(plain) ? `"${plain}"` : plain;
}
