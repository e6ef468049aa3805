/**
 * The configuration of a profile as people read it: the settings that its files define, and the source of config.yaml on
 * disk and in force, with its findings and the variables that it refers to. Secrets are masked by their keys and by their
 * values.
 * @see CFG-2, CFG-3, CLI-6 and INS-4 in docs/specification.md
 */

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type HomeSource, loadingHome } from '../../actors/config/load-config.ts';
import { readText } from '../../actors/files.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import { eachText, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import type { ConfigPath } from '../../machines/config/document.ts';
import { parsingConfig, valueIn, withEdit } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { maskingSource } from '../../machines/config/masked-source.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { runVariables } from '../../machines/config/program-variables.ts';
import { configSchema } from '../../machines/config/schema.ts';
import { listingSettings, type VariableSource } from '../../machines/config/shown-settings.ts';
import { isPlace } from '../../machines/mcp/foreign-references.ts';
import { learningSecrets, withLostFiles } from '../config/loaded-home.ts';
import { createRedactor } from '../observe/redact.ts';
import type { CommandHost } from './command.ts';
import type { ConfigSource } from './contract/setup.ts';
import type { Result } from './contract.ts';
import { notServed, profileOf } from './home-view.ts';

/** @param keys the settings to show, where not all of the file */
export async function showConfig(
  source: HomeSource,
  profile: ProfileName,
  keys?: readonly ConfigPath[],
): Promise<Result<'config.show'>> {
  const { home, env } = source;
  const paths = profilePaths(home, profile);
  // The defaults of a profile that does not exist would be shown as its settings.
  if (profile !== defaultProfile && !existsSync(paths.home)) throw notServed(profile);
  const text = (await readText(paths.config)) ?? '';
  const document = await inPieces(parsingConfig(text));
  const ofFile = parseEnvFile((await readText(paths.env)) ?? '');
  const redactor = createRedactor();
  // As a draft, a profile is read whether it is served or not.
  await inPieces(learningSecrets(await inPieces(loadingHome(withDraft(source, profile, text))), redactor));
  const { value, place } = document;
  const asked = keys?.reduce<Json | undefined>((held, path) => withEdit(held, path, valueIn(value, path)), {});
  const shown = { place, value: isJsonObject(asked) ? asked : value };
  const rows = await inPieces(listingSettings(shown, configSchema() as JsonObject, (name) => setIn(name, ofFile, env)));
  return {
    file: configFile(profile),
    settings: rows.map(({ variables = [], ...row }) => {
      const named = variables.filter(({ name }) => !isGiven(name));
      return {
        ...row,
        ...(named.length === 0 ? {} : { variables: named }),
        // A secret-looking name must not mask a reference, so each text is redacted alone.
        value: eachText(row.value, redactor.text),
      };
    }),
  };
}

/** A private-use character, which texts do not contain. */
const noQuote = '\ue000';

export async function showSource({ source, inForce, daemon }: CommandHost, params: JsonObject): Promise<ConfigSource> {
  const profile = profileOf(params.profile);
  const standing = inForce?.().home;
  const onDisk = withLostFiles(await inPieces(loadingHome(source)), standing);
  const read = onDisk.profiles.get(profile);
  if (read === undefined) throw notServed(profile);
  const file = configFile(profile);
  const redactor = createRedactor();
  await inPieces(learningSecrets(onDisk, redactor));
  if (standing !== undefined) await inPieces(learningSecrets(standing, redactor));
  // A secret may span lines, so the lines are redacted together. Quotes are replaced meanwhile, so that a reference after
  // a secret's name is not taken for a member of JSON.
  const shownAs = async (text: string): Promise<readonly string[]> => {
    const masked = (await inPieces(maskingSource(text.replace(/\r?\n$/, '')))).join('\n');
    return redactor.text(masked.replaceAll('"', noQuote)).replaceAll(noQuote, '"').split('\n');
  };
  const disk = await shownAs(read.text);
  const saved = await stat(read.paths.config).catch(() => undefined);
  const held = standing?.profiles.get(profile);
  const history = daemon?.configHistory;
  const config = daemon?.status().config;
  const refused = config?.in_force === false ? config.fault : undefined;
  return {
    file,
    profile,
    profiles: [...onDisk.profiles.keys()],
    disk,
    ...(saved === undefined ? {} : { saved_at: saved.mtime.toISOString() }),
    findings: onDisk.diagnostics
      .filter((found) => found.file === file || found.line === 0)
      .map((found) => ({ ...found, message: redactor.text(found.message) })),
    ...(held === undefined || history === undefined
      ? {}
      : {
          in_force: {
            lines: held.text === read.text ? disk : await shownAs(held.text),
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
    variables: [...new Set(variablesIn(read.written))]
      .filter((name) => !isGiven(name))
      .map((name) => ({ name, from: setIn(name, read.scope, source.env) })),
  };
}

export function setIn(name: string, ofFile: Pick<ReadonlySet<string>, 'has'>, env: HomeSource['env']): VariableSource {
  return ofFile.has(name) ? '.env' : env[name] === undefined ? 'unset' : 'environment';
}

/** Places and the variables of a run are set by the gateway. */
function isGiven(variable: string): boolean {
  return isPlace(variable) || runVariables.some((one) => one === variable);
}

export function configFile(profile: ProfileName): string {
  return profile === defaultProfile ? 'config.yaml' : `profiles/${profile}/config.yaml`;
}

/** The home as it would be with this text as a profile's config.yaml. */
export function withDraft(source: HomeSource, profile: ProfileName, text: unknown) {
  if (typeof text !== 'string') return source;
  return { ...source, drafts: new Map([[profilePaths(source.home, profile).config, text]]) };
}
