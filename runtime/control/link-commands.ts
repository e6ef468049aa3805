/**
 * The commands of add-server links, for clients with their own dialogs: one reads a link and writes nothing, one adds
 * what a person has seen and confirmed. The dialog's chart decides; an existing name is never overwritten.
 * @see LNK-1, LNK-2, LNK-3 and SEC-2 in docs/specification.md
 */

import { hasServerEntry } from '../../actors/config/server-entries.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { type InstallLink, readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import { runLinkDialog } from '../mcp/link-dialog.ts';
import type { CommandHost, Commands } from './command.ts';
import type { LinkReading, Result } from './contract.ts';
import { homeOf, profileOf } from './home-view.ts';
import { Refusal } from './refusal.ts';
import { applied } from './server-commands.ts';

export const linkCommands = {
  'link.read': readLink,
  'link.add': addLink,
} satisfies Partial<Commands>;

async function readLink(host: CommandHost, params: JsonObject): Promise<LinkReading> {
  const { name, config } = linkOf(params);
  return {
    name,
    kind: typeof config.command === 'string' ? 'command' : 'url',
    config,
    lowers: loweredGuards(config),
    taken: await hasServerEntry({ home: host.source.home, profile: profileOf(params.profile), name }),
    profiles: [...homeOf(host).profiles.keys()],
  };
}

/** The config comes from the link that the person has seen, never from the parameters of the answer. */
async function addLink(host: CommandHost, params: JsonObject): Promise<Result<'link.add'>> {
  const { source } = host;
  const link = linkOf(params);
  const wanted = typeof params.name === 'string' && params.name !== '' ? params.name : link.name;
  const profile = profileOf(params.profile);
  let why: string | undefined;
  let renamed = false;
  const outcome = await runLinkDialog(
    link,
    { home: source.home, profile },
    {
      ask: ({ mustRename, context }) => {
        const mayRename = !renamed && context.name !== wanted;
        if (mayRename) {
          renamed = true;
          return Promise.resolve({ type: 'link.rename', name: wanted });
        }
        if (!mustRename) return Promise.resolve({ type: 'link.confirm' });
        why = context.why ?? undefined;
        return Promise.resolve({ type: 'link.cancel' });
      },
    },
  );
  switch (outcome.kind) {
    case 'added':
      return { added: outcome.name, profile, ...(await applied(host)) };
    case 'cancelled':
      throw Refusal.carrying('link-name', why ?? 'nothing was added');
    case 'refused':
      throw Refusal.carrying('link-entry', outcome.why);
  }
}

function linkOf(params: JsonObject): InstallLink {
  const reading = readInstallLink(typeof params.url === 'string' ? params.url : '');
  if (reading.kind === 'link') return reading.link;
  throw Refusal.carrying(reading.code, reading.message);
}
