/**
 * Reads the dotenv syntax of `.env`: one `NAME=value` per line, optional `export`, comments, single quotes literal, double
 * quotes with escapes and over several lines. Never fails: other lines are
 * ignored, and `strayLines` names them.
 * @see HOME-2 in docs/specification.md
 */

const line =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*(?:'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|([^\r\n]*?))[ \t]*(?:[ \t]#[^\r\n]*)?$/gm;
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/** The variables in file order; the last of a name counts. */
export function parseEnvFile(text: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const [, name, single, double, bare] of text.replace(/^\uFEFF/, '').matchAll(line)) {
    if (name === undefined) continue;
    variables.set(name, single ?? (double === undefined ? bareValue(bare ?? '') : unescaped(double)));
  }
  return variables;
}

/** The lines, from 1, that are neither a variable, a comment nor empty. */
export function strayLines(text: string): readonly number[] {
  const rest = text.replace(/^\uFEFF/, '').replace(line, (variable) => variable.replace(/[^\n]/g, ''));
  return rest.split('\n').flatMap((one, index) => (/^\s*(?:#|$)/.test(one) ? [] : [index + 1]));
}

/** A comment may follow an unquoted value after a space. */
function bareValue(text: string): string {
  return text.startsWith('#') ? '' : text.replace(/[ \t]+#.*$/, '').trim();
}

function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, (whole, unit: string) => escapes[unit] ?? whole);
}
