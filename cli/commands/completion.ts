/**
 * `agent completion <shell>`: prints a script that runs `agent complete` at each press of the key. `agent complete` prints
 * one candidate per line with its help after a tab, or `:folders` if the shell itself completes folders.
 * @see CLI-2 in docs/specification.md
 */

import { resolve } from 'node:path';
import { placedSocket } from '../../actors/socket-place.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { homeOf } from '../../machines/config/profile.ts';
import type { NameKind } from '../catalogue/row.ts';
import { type Candidate, expectedAt } from '../complete.ts';
import { type CommandContext, type ExitCode, type GatewayPlace, refuse } from '../context.ts';
import { oneLine } from '../terminal.ts';
import { cutTo } from '../text-width.ts';

/**
 * bash splits words at `=`, `:` and `@` and replaces only the last piece. So the words are read from the line, and what bash
 * already has is removed from each candidate. bash puts a candidate into the line as it is, and a sender chooses the id of a
 * delivery, so each is quoted.
 */
const bash = `# bash completion of agent
_agent() {
  local line=\${COMP_LINE:0:COMP_POINT} piece=\${COMP_WORDS[COMP_CWORD]} whole held word
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  whole=\${words[\${#words[@]}-1]}
  case $piece in [=:@\\<\\>]) piece='' ;; esac
  held=\${whole%"$piece"}
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    if [[ $word == :folders ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$piece")
      return
    fi
    word=\${word#"$held"}
    [[ -n $word ]] && printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _agent agent
`;

const zsh = `#compdef agent
_agent() {
  local -a found shown
  local line word help
  found=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $found; do
    if [[ $line == :folders ]]; then
      _files -/
      return
    fi
    word=\${line%%$'\\t'*}
    help=\${line#*$'\\t'}
    [[ -n $word ]] && shown+=("\${word//:/\\\\:}\${help:+:$help}")
  done
  (( $#shown )) && _describe -V agent shown
}
if [[ \${funcstack[1]} == _agent ]]; then _agent "$@"; else compdef _agent agent; fi
`;

const fish = `# fish completion of agent
function __agent_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test "$found" = :folders
        __fish_complete_directories (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c agent -f -a '(__agent_complete)'
`;

/** They contain no command names: each key press runs `agent complete`, so a script never becomes outdated. */
export const completionScripts: ReadonlyMap<string, string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

/** A completion menu has room for no more. */
const maxHelpLength = 100;

export function printCompletion(context: CommandContext): Promise<ExitCode> {
  const shell = context.args[0] ?? '';
  const script = completionScripts.get(shell);
  if (script === undefined) {
    const known = [...completionScripts.keys()].join(', ');
    return Promise.resolve(refuse(context, `no completion for "${shell}"; known are ${known}`, 2));
  }
  context.out.print(script);
  return Promise.resolve(0);
}

/** The last word is the one at the cursor. */
export async function completeWords(context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  const words = context.args.map(unquoted);
  const found = await candidates(words, context);
  if (found === 'folders') {
    out.print(':folders\n');
    return 0;
  }
  const current = words.at(-1) ?? '';
  for (const { word, help } of found) {
    if (!word.startsWith(current)) continue;
    out.print(`${oneLine(word)}\t${cutTo(oneLine(help), maxHelpLength)}\n`);
  }
  return 0;
}

/** bash and zsh hand a word over as it was typed. */
function unquoted(word: string): string {
  return word.replace(/^(--[a-z-]+=)?(["'])(.*)\2$/, '$1$3');
}

/** Names that are the same for every home. */
const fixedNames: Readonly<Partial<Record<NameKind, (current: string) => Promise<readonly Candidate[]>>>> = {
  shell: async () => plainNames([...completionScripts.keys()]),
  source: async () => {
    const { sources } = await import('../../machines/config/sources.ts');
    return Object.entries(sources).map(([word, { title }]) => ({ word, help: title }));
  },
  target: async () => plainNames((await import('../../machines/config/targets.ts')).targetChoices),
  sample: async (current) => {
    const { sampleNames, sampleWords } = await import('../../machines/webhook/samples.ts');
    // The complete list has each once.
    return plainNames(current === '' ? sampleNames : sampleWords);
  },
};

function plainNames(words: readonly string[]): readonly Candidate[] {
  return words.map((word) => ({ word, help: '' }));
}

async function candidates(
  words: readonly string[],
  context: CommandContext,
): Promise<readonly Candidate[] | 'folders'> {
  const expected = expectedAt(words);
  if (expected.kind === 'words') return expected.words;
  const { names, profile, before, words: further } = expected;
  if (names === 'folder') return 'folders';
  const { liveNames } = await import('../live-names.ts');
  const found = await (fixedNames[names]?.(words.at(-1) ?? '') ?? liveNames(names, placeIn(words, context), profile));
  return [...further, ...found.map(({ word, help }) => ({ word: `${before}${word}`, help }))];
}

/** The gateway that the words select, as the command itself would; the shell has not expanded the home's tilde. */
function placeIn(words: readonly string[], { gateway, env }: CommandContext): GatewayPlace {
  const given = flagIn('--home', words);
  const named = given === undefined ? undefined : homeOf({ AGENT_HOME: given }, userHomeFolder());
  if (named === undefined) return gateway;
  const home = resolve(named);
  return { home, socket: placedSocket(home, 'gateway.sock', env) };
}

function flagIn(flag: string, words: readonly string[]): string | undefined {
  const earlier = words.slice(0, -1);
  const inline = earlier.find((word) => word.startsWith(`${flag}=`));
  if (inline !== undefined) return inline.slice(flag.length + 1);
  const at = earlier.indexOf(flag);
  return at < 0 ? undefined : earlier[at + 1];
}
