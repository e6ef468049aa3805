/** `agent completion <shell>`: scripts made from the catalogue. @see CLI-2 */

import { catalogue, type ExitCode, globalFlags } from '../catalogue.ts';
import type { CommandContext } from '../context.ts';

export function printCompletion(context: CommandContext): Promise<ExitCode> {
  const shell = context.args[0] ?? '';
  const script = scripts[shell];
  if (script === undefined) {
    context.out.complain(`agent: no completion for "${shell}"; known are ${Object.keys(scripts).join(', ')}\n`);
    return Promise.resolve(2);
  }
  context.out.print(script());
  return Promise.resolve(0);
}

/** What may follow each beginning of a command. */
function followers(): ReadonlyMap<string, readonly string[]> {
  const next = new Map<string, Set<string>>();
  const add = (key: string, word: string): void => {
    const words = next.get(key) ?? new Set();
    words.add(word);
    next.set(key, words);
  };
  for (const { path, flags } of catalogue) {
    for (const [index, word] of path.entries()) add(path.slice(0, index).join(' '), word);
    for (const { name } of [...flags, ...globalFlags]) add(path.join(' '), `--${name}`);
  }
  return new Map([...next].map(([key, words]) => [key, [...words]]));
}

const scripts: Readonly<Record<string, () => string>> = { bash, zsh, fish };

function bash(): string {
  const cases = [...followers()].map(([key, words]) => `    '${key}') words='${words.join(' ')}' ;;`);
  return `_agent() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _agent agent
`;
}

function zsh(): string {
  return `#compdef agent\nautoload -U +X bashcompinit && bashcompinit\n${bash()}`;
}

function fish(): string {
  const lines = [...followers()].flatMap(([key, words]) => {
    const depth = key === '' ? 0 : key.split(' ').length;
    const condition = `test (count (commandline -opc)) -eq ${depth + 1}; and string match -q 'agent${key === '' ? '' : ` ${key}`}' (string join ' ' (commandline -opc))`;
    return words.map((word) => `complete -c agent -f -n "${condition}" -a '${word}'`);
  });
  return `${lines.join('\n')}\n`;
}
