/**
 * Reads and changes the dotenv syntax of `.env`: one `NAME=value` per line, optional `export`, comments, single quotes
 * literal, double quotes with escapes and over several lines. Never fails: other lines are ignored, and `strayLines` names
 * them.
 * @see HOME-2 and HOME-4 in docs/specification.md
 */

/** A variable with what surrounds its assignment. A quote begins a value only if its end is that of the value. */
const line =
  /^(?<before>[ \t]*(?:export[ \t]+)?)(?<name>[A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*(?:'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\[\s\S])*)"|(?<bare>[^\r\n]*?))(?<after>[ \t]*(?:[ \t]#[^\r\n]*)?)$/gm;
const quotedJson = /^(["'])(?:\{.*\}|\[.*\])\1$/;
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/** The variables in file order; the last of a name counts. */
export function parseEnvFile(text: string): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const { groups = {} } of text.replace(/^\uFEFF/, '').matchAll(line))
    variables.set(groups.name ?? '', assigned(groups));
  return variables;
}

/** The lines, from 1, whose variable another line sets to another value, with that line. */
export function replacedLines(text: string): readonly (readonly [line: number, by: number])[] {
  const lines = text.replace(/^\uFEFF/, '');
  const standing = new Map<string, { readonly at: number; readonly value: string }>();
  const replaced: (readonly [number, number])[] = [];
  let at = 1;
  let from = 0;
  for (const { index, groups = {} } of lines.matchAll(line)) {
    at += lines.slice(from, index).split('\n').length - 1;
    from = index;
    const { name = '' } = groups;
    const value = assigned(groups);
    const before = standing.get(name);
    if (before !== undefined && before.value !== value) replaced.push([before.at, at]);
    standing.set(name, { at, value });
  }
  return replaced;
}

/** Sets a variable: in its place if it exists, else at the end. */
export function editVariable(text: string, name: string, value: string): string {
  const [mark = ''] = /^\uFEFF/.exec(text) ?? [];
  const assignment = `${name}=${quoted(value)}`;
  let isSet = false;
  const edited = text.slice(mark.length).replace(line, (whole, ...found) => {
    const { name: standing, before, after } = found.at(-1) as Readonly<Record<string, string>>;
    if (standing !== name) return whole;
    isSet = true;
    return `${before}${assignment}${after}`;
  });
  if (isSet) return mark + edited;
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  return `${text}${edited === '' || text.endsWith('\n') ? '' : lineEnd}${assignment}${lineEnd}`;
}

/** The lines, from 1, that are neither a variable, a comment nor empty. */
export function strayLines(text: string): readonly number[] {
  const rest = text.replace(/^\uFEFF/, '').replace(line, (variable) => variable.replace(/[^\n]/g, ''));
  return rest.split('\n').flatMap((one, index) => (/^\s*(?:#|$)/.test(one) ? [] : [index + 1]));
}

/** The lines, from 1, whose value begins with a quote that does not enclose it, so that the quote is a part of the value. */
export function keptQuotes(text: string): readonly number[] {
  const lines = text.replace(/^\uFEFF/, '');
  return [...lines.matchAll(line)].flatMap(({ index, groups: { bare = '' } = {} }) => {
    const [quote = ''] = /^["']/.exec(bare) ?? [];
    // `"a","b"` may be meant as it is, and `"{"a":"b"}"` is JSON that other programs read without the outer quotes.
    const isKept = quote !== '' && (bare.split(quote).length % 2 === 0 || quotedJson.test(bare));
    return isKept ? [lines.slice(0, index).split('\n').length] : [];
  });
}

function assigned({ single, double, bare = '' }: Readonly<Record<string, string | undefined>>): string {
  return single ?? (double === undefined ? bareValue(bare) : unescaped(double));
}

/** A comment may follow an unquoted value after a space. */
function bareValue(text: string): string {
  return text.startsWith('#') ? '' : text.replace(/[ \t]+#.*$/, '').trim();
}

/** Without quotes where none are needed: people and `docker --env-file` take the text behind `=` literally. */
function quoted(value: string): string {
  if (/^[\w./:+=@%,~-]+$/.test(value)) return value;
  return `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`;
}

function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, (whole, unit: string) => escapes[unit] ?? whole);
}
