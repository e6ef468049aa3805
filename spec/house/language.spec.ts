import { readFileSync } from 'node:fs';
import t from 'tap';
import { pagesOf } from './pages.ts';
import { sourceFiles } from './sources.ts';

const heading = '## Words that we do not use';
const [, table = ''] = readFileSync('docs/glossary.md', 'utf8').split(heading);
/** Each form of a word with the first of its row, by which it is counted. */
const oldWords = new Map(
  [...table.matchAll(/^\| (?!not |-)([^|]+) \|/gm)].flatMap(([, words = '']) => {
    const forms = words.split(', ');
    return forms.map((form) => [form, forms[0] ?? form]);
  }),
);

/** Phrases in which a word of the table has its ordinary meaning. */
const allowed =
  /\btells? you\b|\bstands? still\b|\bwhole (?:Unix )?(?:number|(?:milli)?second)s?\b|\bas a whole\b|\bin front\b|\bgateway\.front\b/gi;

/** Written from texts in the sources, which are checked there, and by the bench. */
const generated = /^docs\/(?:machines\/.*|cli|performance)\.md$/;
const metricRow = /^\| `\w+` \|.*$/gm;

t.test('LNG-1 · no page uses a word that the glossary replaces', (t) => {
  t.ok(oldWords.size > 60, 'the table is read');
  t.same(oldWordsIn('A stranger tells the ward.'), ['stranger', 'told', 'ward'], 'the check finds them');
  t.same(oldWordsIn('It tells you so in front of a whole number.'), [], 'and no phrase that is allowed');
  for (const { path, text } of pagesOf()) {
    if (generated.test(path)) continue;
    const own = path === 'docs/metrics.md' ? text.replace(metricRow, blank) : text;
    const [prose = ''] = own.replace(/^(`{3,})[\s\S]*?^\1$|`[^`]*`|\]\([^)]*\)/gm, blank).split(heading);
    const lines = prose.split('\n');
    for (const [index, line] of lines.entries()) t.same(oldWordsIn(line), [], `${path}:${index + 1}`);
  }
  t.end();
});

/**
 * How often the texts of the program still use a word, counted by its row in the table: names within templates. The numbers
 * may only fall: a new text uses the words of the glossary, and a correction of an old one lowers its number.
 */
const leftInTexts: Readonly<Record<string, number>> = {
  told: 5,
  whole: 4,
};

/** Wrong wherever they appear, so comments do not use them either. */
const wrongInComments: ReadonlySet<string> = new Set(['told', 'nobody', 'whoever']);

t.test('LNG-1 · no further text of the program uses one', (t) => {
  const found = sourceFiles().flatMap(({ path, text }) => textsOf(text).flatMap((words) => hits(path, words)));
  t.ok(textsOf("const one = 'two words';").length === 1, 'texts are found');
  holds(t, found, leftInTexts);
  t.end();
});

t.test('LNG-1 · no comment uses a word that is wrong everywhere', (t) => {
  const found = sourceFiles().flatMap(({ path, text }) =>
    [...text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm)].flatMap(([words]) =>
      hits(path, words.replace(/`[^`]*`/g, '')),
    ),
  );
  t.same(
    found.filter(({ word }) => wrongInComments.has(word)),
    [],
  );
  t.end();
});

t.test('LNG-1 · a bound is named max…, and what holds unless another is given default…', (t) => {
  const old = /(?<=\b(?:const|let|readonly) )(?:most|longest|usual|defaultMost)[A-Z]\w*/g;
  t.strictSame([...('const mostRows = 1;'.match(old) ?? [])], ['mostRows'], 'the check finds one');
  for (const { path, text } of sourceFiles()) t.same(text.match(old) ?? [], [], path);
  t.end();
});

interface Hit {
  readonly word: string;
  readonly place: string;
}

function holds(
  t: { ok(value: boolean, message: string): unknown },
  found: readonly Hit[],
  left: Readonly<Record<string, number>>,
): void {
  for (const word of new Set(found.map(({ word }) => word))) {
    const places = found.filter((hit) => hit.word === word).map(({ place }) => place);
    const bound = left[word] ?? 0;
    t.ok(places.length <= bound, `"${word}" is used ${places.length} times, ${bound} are known: ${places.join('; ')}`);
  }
}

function hits(path: string, words: string): Hit[] {
  return oldWordsIn(words).map((word) => ({ word, place: `${path} (${words.trim().slice(0, 60)})` }));
}

function oldWordsIn(text: string): string[] {
  const words = new RegExp(`(?<![\\w-])(?:${[...oldWords.keys()].join('|')})(?![\\w-])`, 'gi');
  return [...text.replace(allowed, blank).matchAll(words)].map(([word]) => oldWords.get(word.toLowerCase()) ?? word);
}

/** String literals of several words, with commands and code in backticks and filled-in values left out; texts of JSX. */
function textsOf(source: string): string[] {
  const code = source
    .replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replace(/^(?:import|export)\b[^;']*? from '[^']*';$/gm, '');
  const literals = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
  const quoted = [...code.matchAll(literals)].map(([literal]) => literal.slice(1, -1));
  const between = [...code.matchAll(/>\s*([A-Z][^<>{}'"`=;]*)(?=[<{])/g)].map(([, words = '']) => words);
  return [...quoted, ...between]
    .map((words) => words.replace(/\$\{[^{}]*\}|\\?`[^`]*`/g, '…'))
    .filter((words) => /\p{L}\s+\S/u.test(words));
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}
