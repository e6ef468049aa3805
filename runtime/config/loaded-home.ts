/**
 * Handles a home that was just read: reports its findings, registers its secrets with the redactor, and decides whether
 * the webhook adapter may start.
 * @see CFG-3 in docs/specification.md
 */

import { lstatSync } from 'node:fs';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Logger } from '../../actors/ports.ts';
import { isJsonObject, type Json, type JsonObject, scalarText } from '../../machines/base/json.ts';
import { atOnce, type Pieces } from '../../machines/base/pieces.ts';
import { type Diagnostic, findingOfFile, printDiagnostic } from '../../machines/config/diagnostic.ts';
import { secretsOf } from '../../machines/config/platform-settings.ts';
import type { HomePaths, ProfilePaths } from '../../machines/config/profile.ts';
import { textsOfSecret } from '../../machines/config/route.ts';
import { isSecret, pathKey, takeSecrets } from '../../machines/mcp/secret-places.ts';
import { clientSecrets } from '../../machines/oauth/without-secrets.ts';
import { isSecretName, type Redactor } from '../observe/redact.ts';

/**
 * Logs one line per finding, in the format of `config check`. The source line is left out, because the redactor would mask
 * the references in it.
 */
export function reportDiagnostics(home: LoadedHome, log: Logger): void {
  for (const found of home.diagnostics) {
    const message = printDiagnostic({ ...found, sourceLine: '' });
    log.log(found.severity === 'error' ? 'error' : 'warn', message, { code: found.code });
  }
}

/** Shorter parts of a path may be words, versions and dates. */
const shortestGenerated = 20;

/** Shorter words of a program's arguments may be numbers, names and models. */
const shortestWord = 16;

/** Registers every secret of the home with the redactor. */
export function learnSecrets(home: LoadedHome, redactor: Redactor): void {
  atOnce(learningSecrets(home, redactor));
}

export function* learningSecrets(home: LoadedHome, redactor: Redactor): Pieces<void> {
  for (const { settings, scope } of home.profiles.values()) {
    for (const value of scope.values()) redactor.learn(value);
    if (settings.webhook.secret !== undefined) redactor.learn(settings.webhook.secret);
    for (const { secret } of settings.webhook.routes) {
      yield undefined;
      textsOfSecret(secret).forEach(redactor.learn);
      if (secret.kind === 'shared' && secret.verifyToken !== undefined) redactor.learn(secret.verifyToken);
    }
    for (const [target, platform] of Object.entries(settings.platforms)) {
      for (const secret of secretsOf(target, platform)) redactor.learn(secret);
      learnNamed(platform.options, redactor);
    }
    if (settings.gateway.postgres !== undefined) learnUrl(settings.gateway.postgres.url, redactor);
    if (settings.inspector.scrapeToken !== undefined) redactor.learn(settings.inspector.scrapeToken);
    for (const { password } of settings.inspector.users ?? []) redactor.learn(password);
    for (const { entry } of settings.servers) {
      learnEntry(entry, redactor);
      yield undefined;
    }
    // From the process environment; the values of `.env` are registered above, whatever their names.
    learnNamed(settings.agent.env, redactor);
    // A word behind --max-tokens or --auth-mode is no secret, so it must also look like one.
    for (const { value } of takeSecrets('', { args: settings.agent.command }, (wanted) => wanted).secrets)
      if (value.length >= shortestWord && /\d/.test(value) && /[a-z]/i.test(value)) redactor.learn(value);
    for (const endpoint of [settings.agent.model, settings.agent.search]) {
      if (endpoint?.apiKey !== undefined) redactor.learn(endpoint.apiKey);
    }
  }
}

/** `client_key` is the path of a file and may be shown; of the client certificate only the password is secret. */
function learnEntry({ client_key: _, client_cert: certificate, ...entry }: JsonObject, redactor: Redactor): void {
  learnNamed(entry, redactor);
  // Under the names whose values `agent mcp add` moves into `.env`, such as DB_PWD.
  for (const [name, value] of Object.entries(isJsonObject(entry.env) ? entry.env : {}))
    if (isSecret(name, scalarText(value))) redactor.learn(scalarText(value));
  // Likewise of its arguments and its address, such as the word after --api-key.
  const { args = [], url = '' } = entry;
  for (const { variable, value } of takeSecrets('', { args, url }, (wanted) => wanted).secrets)
    if (variable.endsWith(pathKey)) learnSegment(value, redactor);
    else redactor.learn(value);
  // Headers authenticate, whatever their names.
  learnNamed(entry.headers ?? null, redactor, true);
  if (Array.isArray(certificate)) learnNamed(certificate[2] ?? null, redactor, true);
  if (typeof entry.url !== 'string') return;
  learnUrl(entry.url, redactor);
  // Several hosts of servers give each customer an address, which is the only credential.
  for (const segment of pathOf(entry.url)) if (segment.length >= shortestGenerated) learnSegment(segment, redactor);
}

function learnSegment(segment: string, redactor: Redactor): void {
  if (isMixed(segment)) redactor.learn(segment);
  // It may be the number of an account too, which a person must see in a call that waits for approval.
  else if (isHexadecimal(segment)) redactor.learn(`/${segment}`);
}

function learnUrl(url: string, redactor: Redactor): void {
  if (URL.canParse(url)) learnPassword(new URL(url), redactor);
}

function pathOf(url: string): readonly string[] {
  return URL.canParse(url) ? new URL(url).pathname.split('/') : [];
}

/** Digits among letters of both cases: a machine made it. */
function isMixed(segment: string): boolean {
  return /\d/.test(segment) && /[a-z]/.test(segment) && /[A-Z]/.test(segment);
}

function isHexadecimal(segment: string): boolean {
  return /^[\da-f-]*\d[\da-f-]*$/i.test(segment);
}

/** Both as written in the address and as sent, in a header with the user's name too. */
function learnPassword({ username, password }: URL, redactor: Redactor): void {
  redactor.learn(password);
  if (password === '') return;
  try {
    const [clientId, clientSecret] = [decodeURIComponent(username), decodeURIComponent(password)];
    clientSecrets({ clientId, clientSecret }).forEach(redactor.learn);
  } catch {
    // Not escaped, so it is sent as written.
  }
}

/** Registers texts under a name that marks a secret, at any depth: a server's headers, its environment, its login. */
function learnNamed(held: Json, redactor: Redactor, isSecret = false): void {
  if (typeof held === 'string') {
    if (!isSecret) return;
    redactor.learn(held);
    // A server that echoes its header may omit the scheme.
    redactor.learn(held.replace(/^(?:Bearer|Basic|Token|Bot) +/i, ''));
  } else if (Array.isArray(held)) {
    for (const one of held) learnNamed(one, redactor, isSecret);
  } else if (isJsonObject(held)) {
    for (const [name, inner] of Object.entries(held)) learnNamed(inner, redactor, isSecret || isSecretName(name));
  }
}

type AdapterBlock =
  | { readonly kind: 'free' }
  /** The webhook configuration has findings: the adapter stays closed, the rest may run. */
  | { readonly kind: 'adapter'; readonly fault: string }
  /** Other sections have findings too: they take their defaults, and the adapter stays closed. */
  | { readonly kind: 'section'; readonly fault: string }
  /** The configuration cannot be read. */
  | { readonly kind: 'home'; readonly fault: string };

/** What the findings block. Findings of routes do not block an adapter that is switched off. */
export function adapterBlock({ webhookBlocked, main }: LoadedHome): AdapterBlock {
  const isOf = (kind: string): boolean => webhookBlocked.some(({ scope }) => scope.kind === kind);
  const kind = isOf('home') ? 'home' : isOf('section') ? 'section' : 'adapter';
  if (webhookBlocked.length === 0 || (kind === 'adapter' && !main.settings.webhook.enabled)) return { kind: 'free' };
  const [first] = webhookBlocked.map((found) => printDiagnostic({ ...found, sourceLine: '' }));
  const others = webhookBlocked.length - 1;
  const fault = `the ${kind === 'adapter' ? 'webhook ' : ''}configuration has findings: ${first ?? ''}${others > 0 ? `; and ${others} more` : ''} (see \`agent config check\`)`;
  return { kind, fault };
}

/**
 * The home that was read, with a finding for each `config.yaml` or `.env` that was not empty and now is, or is gone: an
 * interrupted write, a full disk or a moved file, not the intention to configure nothing. So is a profile whose link leads
 * nowhere, as while its disk is away: its work would fail.
 */
export function withLostFiles(next: LoadedHome, standing: LoadedHome | undefined): LoadedHome {
  const isServed = next.main.settings.gateway.multiplexProfiles;
  const linked = [...(standing?.profiles ?? [])].flatMap(([name, { paths }]) => {
    const isLeft = isServed && !next.profiles.has(name) && isLink(paths.home);
    const message = 'leads to no folder any more; put it back, or remove the link';
    return isLeft ? findingOfFile(paths.home, { code: 'file-gone', message }) : [];
  });
  const emptied = [...next.profiles].flatMap(([name, { emptyFiles, paths }]) => {
    const before = standing?.profiles.get(name);
    if (before === undefined) return [];
    // Where a file of comments is removed, no variable is lost.
    const wasEmpty = (path: string): boolean =>
      before.emptyFiles.has(path) || (path === paths.env && before.scope.size === 0);
    const lost = [...emptyFiles].filter((path) => !wasEmpty(path));
    return lost.map((path) => lostFile(path, { isThere: next.stamps.get(path) !== undefined, paths }));
  });
  const lost = [...linked, ...emptied];
  if (lost.length === 0) return next;
  return {
    ...next,
    diagnostics: [...lost, ...next.diagnostics],
    webhookBlocked: [...lost, ...next.webhookBlocked],
  };
}

function lostFile(
  path: string,
  { isThere, paths }: { readonly isThere: boolean; readonly paths: ProfilePaths },
): Diagnostic {
  const cure =
    path === paths.env
      ? 'write # into it where no variable is to be set'
      : 'write {} into it where nothing is to be configured';
  return findingOfFile(
    path,
    isThere
      ? { code: 'file-emptied', message: `is empty, as a write that was cut off leaves it; write it again, or ${cure}` }
      : { code: 'file-gone', message: `is gone; put it back, or ${cure}` },
  );
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** The paths to watch: the files of every profile and, if profiles are served, their folder. */
export function watchedPaths({ profiles, main }: LoadedHome, paths: HomePaths): readonly string[] {
  const files = [...profiles.values()].flatMap(({ paths: own }) => [own.config, own.env]);
  return main.settings.gateway.multiplexProfiles ? [...files, paths.profiles] : files;
}

/** The folders whose files are replaced atomically. */
export function writtenFolders({ profiles }: LoadedHome, { state }: HomePaths): readonly string[] {
  const ofProfiles = [...profiles.values()].map(({ paths: own }) => own);
  return [state, ...ofProfiles.flatMap(({ home, tokens, cron, cache }) => [home, tokens, cron, `${cache}/mcp`])];
}

/** The sections with findings that take their defaults. */
export function brokenSections({ webhookBlocked }: LoadedHome): ReadonlySet<string> {
  return new Set(webhookBlocked.flatMap(({ scope }) => (scope.kind === 'section' ? [scope.section] : [])));
}

/** Why the webhook adapter of this home must not start; null if it may, or is disabled. */
export function adapterFault(home: LoadedHome): string | null {
  const block = adapterBlock(home);
  return block.kind === 'free' || !home.main.settings.webhook.enabled ? null : block.fault;
}
