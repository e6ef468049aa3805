import t from 'tap';
import {
  withEntities,
  withoutCommand,
  withoutLinks,
  withoutMentions,
  withoutQuickActions,
  withoutTags,
  withoutTemplates,
  withoutWikiMarkup,
} from '../../../machines/dispatch/inert-text.ts';

/** A dot stands for the word joiner, which is not seen. */
const shown = (text: string): string => text.replaceAll('\u2060', '·');

t.test('DLV-4 · a mention is broken wherever a platform might read one', (t) => {
  for (const [text, expected] of [
    ['@all, @Channel (@here) **@everyone** _@all_', '@·all, @·Channel (@·here) **@·everyone** _@·all_'],
    ['\\@all &#64;all &#x40;all &#0064;all &commat;all', '\\@·all &#64;·all &#x40;·all &#0064;·all &commat;·all'],
    ['@\u200ball @\ufeffall @\u202eall @\u0000all', '@·\u200ball @·\ufeffall @·\u202eall @·\u0000all'],
    ['@&#97;ll @*all*', '@·&#97;ll @·*all*'],
    ['ops@example.org 5 @ 3, trailing @', 'ops@example.org 5 @ 3, trailing @'],
    ['e\u0301@all', 'e\u0301@·all'],
    ['请@ada \u212a@ada für@ada &#X40;ada', '请@·ada \u212a@·ada für@ada &#X40;·ada'],
  ] as const)
    t.equal(shown(withoutMentions(text)), expected);
  t.end();
});

t.test('DLV-4 · code keeps its signs where it is code for certain', (t) => {
  for (const text of [
    '```ts\n@Override\n```',
    'Do:\n```\n@a\n````\n',
    '~~~\n@a\n```\n@b\n~~~',
    'run `npm i @a/b` or ``x ` @c``',
    '<details>\n\n```\n@a\n```\n</details>',
    '```\n@a',
  ])
    t.equal(shown(withoutMentions(text, 1_000)), text);
  t.end();
});

t.test('DLV-4 · what only looks like code keeps no mention', (t) => {
  for (const [text, expected] of [
    ['```\nx\n```\n@a', '```\nx\n```\n@·a'],
    ['```\rx\r```\r@a', '```\rx\r```\r@·a'],
    ['- x\n\n  ```\n@a\n  ```', '- x\n\n  ```\n@·a\n  ```'],
    ['x\n ```\ny\n\n```\n@a\n```', 'x\n ```\ny\n\n```\n@·a\n```'],
    ['<div>\n```\n@a\n```\n</div>', '<div>\n```\n@·a\n```\n</div>'],
    ['<!--\n\n-->\n\n```\n@a\n```', '<!--\n\n-->\n\n```\n@·a\n```'],
    ['`a\n`@b` c', '`a\n`@·b` c'],
    ['# `\n@a `', '# `\n@·a `'],
    ['\\`@a`', '\\`@·a`'],
    ['| ` | @a ` |', '| ` | @·a ` |'],
    ['<a href="`">@a`', '<a href="`">@·a`'],
    ['``@a`', '``@·a`'],
    ['    @a', '    @·a'],
  ] as const)
    t.equal(shown(withoutMentions(text, 1_000)), expected);
  t.equal(shown(withoutMentions('`@a` and more', 5)), '`@·a` and more', 'a text that is cut');
  t.end();
});

const profile = 'linear\\.app/[^/\\s]+/profiles';

t.test('DLV-4 · templates, tags, entities and commands are shown as they were written', (t) => {
  t.equal(shown(withoutTemplates('{{{ {%- x %} {# y #} { {} }}')), '{·{·{ {·%- x %} {·# y #} { {} }}');
  t.equal(shown(withoutTags('<at id=1></AT> <attr> <b>', 'at\\b')), '<·at id=1><·/AT> <attr> <b>');
  t.equal(
    shown(withoutQuickActions('/close\n \t/merge now\r/a\r\n/é\n//x\nsee /tmp\n/ x\n/1')),
    '/·close\n \t/·merge now\r/·a\r\n/·é\n//x\nsee /tmp\n/ x\n/1',
  );
  t.equal(
    shown(withoutLinks('https://linear.app/acme/profiles/ada LINEAR.app/a/profiles/b linear.app/a/issue/X-1', profile)),
    'https://linear.app/acme/profiles·/ada LINEAR.app/a/profiles·/b linear.app/a/issue/X-1',
  );
  t.equal(
    shown(withoutWikiMarkup('[~ada] a[1] [ x ] {html} { x } !a.png! !a b! hi! !a.png|width=1 height=2!')),
    '[·~ada] a[·1] [ x ] {·html} { x } !·a.png! !a b! hi! !·a.png|width=1 height=2!',
  );
  t.equal(withEntities('a<b && c>d &lt;'), 'a&lt;b &amp;&amp; c&gt;d &amp;lt;');
  t.equal(shown(withoutCommand(' TTS\n', /^tts$/i)), ' TTS\n·');
  t.equal(withoutCommand('a TTS', /^tts$/i), 'a TTS');
  t.end();
});
