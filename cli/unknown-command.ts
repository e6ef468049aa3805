/**
 * Suggests what an unknown command line probably meant: a misspelt word, a group without its command, or a command without
 * its group. Uses only the catalogue; ignores flags.
 * @see CLI-2 in docs/specification.md
 */

import { nearest } from '../machines/config/nearest.ts';
import { type CliCommand, catalogue } from './catalogue.ts';

/** More suggestions do not help. */
const maxMeant = 5;

/** Words of other programs, each with the words that it may be here, the likeliest first. */
const otherWords: ReadonlyMap<string, readonly string[]> = new Map([
  ['add', ['subscribe']],
  ['auth', ['login']],
  ['create', ['subscribe', 'add']],
  ['delete', ['remove', 'drop']],
  ['delivery', ['deliveries']],
  ['describe', ['show']],
  ['get', ['show']],
  ['init', ['gateway setup']],
  ['job', ['cron']],
  ['jobs', ['cron']],
  ['new', ['subscribe', 'add']],
  ['resend', ['replay', 'retry']],
  ['retry', ['replay']],
  ['rm', ['remove', 'drop']],
  ['route', ['webhook']],
  ['routes', ['webhook list']],
  ['server', ['mcp']],
  ['servers', ['mcp list']],
  ['set', ['edit']],
  ['trigger', ['webhook test', 'test', 'run']],
  ['update', ['edit']],
  ['validate', ['check']],
  ['view', ['show']],
]);

/** The visible commands that begin with these words, including an exact match. */
export function groupOf(path: readonly string[]): readonly CliCommand[] {
  return catalogue.filter((one) => one.hidden !== true && path.every((word, index) => one.path[index] === word));
}

export function unknownCommand(bare: readonly string[]): { readonly message: string; readonly cure: string } {
  const held = heldWords(bare);
  const group = groupOf(held);
  const at = held.length === 0 ? 'agent' : `agent ${held.join(' ')}`;
  const next = [...new Set(group.map(({ path }) => path[held.length]).filter((word) => word !== undefined))];
  if (held.length > 0 && held.length === bare.length) {
    return { message: `"${at}" needs a command: ${next.join(', ')}`, cure: seeHelp(held) };
  }
  const problem = `unknown command "${bare.join(' ')}"`;
  const meant = meantBy(bare);
  if (meant.length > 0) {
    const quoted = meant.map((words) => `"${words}"`).join(' or ');
    return { message: `${problem}; did you mean ${quoted}?`, cure: seeHelp(held) };
  }
  const known = held.length === 0 ? '' : `; "${at}" knows ${next.join(', ')}`;
  return { message: `${problem}${known}`, cure: seeHelp(held) };
}

/** The leading words that match some command. */
function heldWords(bare: readonly string[]): readonly string[] {
  let depth = 0;
  while (depth < bare.length && groupOf(bare.slice(0, depth + 1)).length > 0) depth += 1;
  return bare.slice(0, depth);
}

/**
 * The command with each misspelt or foreign word replaced, if it is found for every word; else those whose last word was
 * given without its group; else the command that the replaced words begin with.
 */
function meantBy(bare: readonly string[]): readonly string[] {
  const [first = '', second = ''] = bare;
  const corrected: string[] = [];
  for (const word of bare) {
    const next = groupOf(corrected).map(({ path }) => path[corrected.length] ?? '');
    const other = otherWords.get(word)?.find((words) => next.includes(words.split(' ')[0] ?? ''));
    const near = next.includes(word) ? word : (other ?? nearest(word, next.filter(Boolean)));
    if (near === undefined) break;
    corrected.push(...near.split(' '));
  }
  const isCommand = catalogue.some(({ path }) => path.join(' ') === corrected.join(' '));
  if (isCommand && bare.length > 1 && corrected.length >= bare.length) return [corrected.join(' ')];
  const ofAll = groupOf([]).filter(({ path }) => path.length > 1 && path.at(-1) === first);
  // `list webhooks`: the words are there, in another order.
  const group = nearest(
    second,
    ofAll.map(({ path }) => path[0] ?? ''),
  );
  const alone = group === undefined ? ofAll : ofAll.filter(({ path }) => path[0] === group);
  if (alone.length > 0 && alone.length <= maxMeant) return alone.map(({ path }) => path.join(' '));
  // What was typed, without its last word, is no suggestion.
  const isOther = corrected.some((word, index) => word !== bare[index]);
  return corrected.length >= bare.length || (isOther && isCommand) ? [corrected.join(' ')] : [];
}

function seeHelp(held: readonly string[]): string {
  return `See \`agent help${held.length === 0 ? '' : ` ${held.join(' ')}`}\`.`;
}
