import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const folder = 'runtime/inspector/page/styles';
const base = readFileSync(`${folder}/base.css`, 'utf8');

/** The named colours of both schemes; a scheme that names one anew changes it. */
function coloursOf(css: string): ReadonlyMap<string, string> {
  return new Map(
    [...css.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name = '', colour = '']) => [name, colour]),
  );
}

const dark = base.indexOf('@media (prefers-color-scheme: dark)');
const light = coloursOf(base.slice(0, dark));
const schemes = { light, dark: new Map([...light, ...coloursOf(base.slice(dark))]) } as const;

const channels = (colour: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** WCAG's contrast of two colours. */
function contrast(one: string, other: string): number {
  const [more = 0, less = 0] = [one, other].map(luminance).sort((first, second) => second - first);
  return (more + 0.05) / (less + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) =>
    value / 255 <= 0.040_45 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mixed(colour: string, share: number, ground: string): string {
  const grounds = channels(ground);
  return `#${channels(colour)
    .map((value, at) =>
      Math.round(value * share + (grounds[at] ?? 0) * (1 - share))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

const standings = ['working', 'resting', 'needs-user', 'failed', 'ended'];
/** A row that is chosen or pointed at has a ground of its own. */
const grounds = ['ground', 'panel', 'raised', 'accent-ground'];
/** Every ground that is a standing's own colour, thinned, under letters of it: the chart's boxes have letters of the text's colour. */
const sheets = readdirSync(folder).filter((name) => name !== 'chart.css');
const shares = sheets.flatMap((name) =>
  [...readFileSync(`${folder}/${name}`, 'utf8').matchAll(/var\(--standing\) (\d+)%, var\(--panel\)/g)].map(
    ([, share]) => Number(share),
  ),
);

for (const [scheme, colours] of Object.entries(schemes)) {
  t.test(`INS-2 · letters can be read on every ground, ${scheme}`, (t) => {
    const of = (name: string): string => colours.get(name) ?? '';
    const pairs = [
      ...standings.flatMap((name) => grounds.map((ground) => [name, of(name), of(ground)] as const)),
      ...['text', 'muted', 'accent'].flatMap((name) =>
        [...grounds, 'caution-ground', 'bad-ground'].map((ground) => [name, of(name), of(ground)] as const),
      ),
      ...['failed', 'bad-ground', 'needs-user', 'caution-ground'].flatMap((name, at, names) =>
        at % 2 === 0 ? [[name, of(name), of(names[at + 1] ?? '')] as const] : [],
      ),
      ['on-accent', of('on-accent'), of('accent')] as const,
    ];
    for (const [name, letters, ground] of pairs) {
      t.ok(
        contrast(letters, ground) >= 4.5,
        `${name} ${letters} on ${ground}: ${contrast(letters, ground).toFixed(2)}`,
      );
    }
    t.ok(shares.length > 1);
    for (const share of shares) {
      for (const name of standings) {
        const ground = mixed(of(name), share / 100, of('panel'));
        t.ok(
          contrast(of(name), ground) >= 4.5,
          `${name} on ${share} % of itself: ${contrast(of(name), ground).toFixed(2)}`,
        );
      }
    }
    t.end();
  });
}
