/**
 * The scripts for the shells' completion. They contain no command names: each key press runs `agent complete`, so a script
 * never becomes outdated.
 * @see CLI-2 in docs/specification.md
 */

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

export const completionScripts: ReadonlyMap<string, string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);
