/**
 * The source of a profile's config.yaml on disk and in force, with its findings and the variables that it refers to.
 * Secrets are masked by their keys and by their values.
 * @see CFG-2, CFG-3 and INS-4 in docs/specification.md
 */

import { stat } from 'node:fs/promises';
import { loadHome } from '../../actors/config/load-config.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { parseDocument } from '../../machines/config/document.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { maskSource } from '../../machines/config/masked-source.ts';
import { learnSecrets, withLostFiles } from '../config/loaded-home.ts';
import { createRedactor } from '../observe/redact.ts';
import type { CommandHost } from './command.ts';
import { configFile, isGiven, setIn } from './config-view.ts';
import type { ConfigSource } from './contract.ts';
import { notServed, profileOf } from './home-view.ts';

/** A private-use character, which texts do not contain. */
const noQuote = '\ue000';

export async function showSource({ source, desk, daemon }: CommandHost, params: JsonObject): Promise<ConfigSource> {
  const profile = profileOf(params.profile);
  const standing = desk?.().home;
  const onDisk = withLostFiles(loadHome(source), standing);
  const read = onDisk.profiles.get(profile);
  if (read === undefined) throw notServed(profile);
  const file = configFile(profile);
  const redactor = createRedactor();
  learnSecrets(onDisk, redactor);
  if (standing !== undefined) learnSecrets(standing, redactor);
  // A secret may span lines, so the lines are redacted together. Quotes are replaced meanwhile, so that a reference after
  // a secret's name is not taken for a member of JSON.
  const shown = (text: string): readonly string[] => {
    const masked = maskSource(text.replace(/\r?\n$/, '')).join('\n');
    return redactor.text(masked.replaceAll('"', noQuote)).replaceAll(noQuote, '"').split('\n');
  };
  const saved = await stat(read.paths.config).catch(() => undefined);
  const held = standing?.profiles.get(profile);
  const history = daemon?.configHistory;
  const config = daemon?.status().config;
  const refused = config?.in_force === false ? config.fault : undefined;
  return {
    file,
    profile,
    profiles: [...onDisk.profiles.keys()],
    disk: shown(read.text),
    ...(saved === undefined ? {} : { saved_at: saved.mtime.toISOString() }),
    findings: onDisk.diagnostics
      .filter((found) => found.file === file || found.line === 0)
      .map((found) => ({ ...found, message: redactor.text(found.message) })),
    ...(held === undefined || history === undefined
      ? {}
      : {
          in_force: {
            lines: shown(held.text),
            since: new Date(history.sinceMs(profile) ?? Date.now()).toISOString(),
            ...(refused === undefined ? {} : { refused }),
            restart_for: history.restartFor(),
            changes: history.changes(profile).map(({ atMs, kind, what }) => ({
              at: new Date(atMs).toISOString(),
              kind,
              what,
            })),
          },
        }),
    variables: [...new Set(variablesIn(parseDocument(read.text).value))]
      .filter((name) => !isGiven(name))
      .map((name) => ({ name, from: setIn(name, read.scope, source.env) })),
  };
}
