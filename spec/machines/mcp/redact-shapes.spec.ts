import t from 'tap';
import { redactShapes } from '../../../machines/mcp/redact-shapes.ts';
import { isLinear } from '../../support/linear.ts';
import { fc } from '../../support/property.ts';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

t.test('LIF-13 · known secret shapes become [redacted], and the words around them stay', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['Authorization: Bearer abc.DEF-123_~+/== refused', 'Authorization: Bearer [redacted] refused'],
    ['bearer   abc', 'bearer   [redacted]'],
    [`Bearer ${jwt}`, 'Bearer [redacted]'],
    ['key sk-proj-Ab3_dE-9xyz0 is bad', 'key [redacted] is bad'],
    ['use ghp_16C7e42F292c6912E7710c838347Ae178B4a.', 'use [redacted].'],
    ['gho_abc123 ghs_abc123 ghu_abc ghr_abc', '[redacted] [redacted] [redacted] [redacted]'],
    ['(github_pat_11ABCDE0_xyz)', '([redacted])'],
    ['xoxb-123-abc xoxa-2-x xoxp-9', '[redacted] [redacted] [redacted]'],
    ['AKIAIOSFODNN7EXAMPLE', '[redacted]'],
    ['ASIAIOSFODNN7EXAMPLE!', '[redacted]!'],
    [`token ${jwt}, bad`, 'token [redacted], bad'],
    ['postgres://ann:p:w@db:5432/x', 'postgres://[redacted]@db:5432/x'],
    ['https://ann:a@b@host/x', 'https://[redacted]@host/x'],
    ['https://tok123@host', 'https://[redacted]@host'],
    ['GET https://h/x?token=abc&page=2', 'GET https://h/x?token=[redacted]&page=2'],
    ['https://h/?a=1&api_key=abc#top', 'https://h/?a=1&api_key=[redacted]#top'],
    ['https://h/?access_token=a%20b&API-KEY=c', 'https://h/?access_token=[redacted]&API-KEY=[redacted]'],
    ['client_secret=abc; password=def', 'client_secret=[redacted]; password=[redacted]'],
  ];
  for (const [text, expected] of rows) {
    t.equal(redactShapes(text), expected, text);
    t.equal(redactShapes(`${text}\n${text}`), `${expected}\n${expected}`, 'wherever it is');
  }
  t.end();
});

t.test('LIF-13 · what only resembles a secret stays', (t) => {
  const rows = [
    'the task-runner-failed',
    'scikit sk-learn',
    'https://host:8080/@scope/name',
    'mail ann@example.org',
    'eyJ is how one begins',
    'AKIA is a prefix',
    'unauthorised: no token given',
  ];
  for (const text of rows) t.equal(redactShapes(text), text);
  t.end();
});

t.test('LIF-13 · a redacted text stays as it is', (t) => {
  const piece = fc.constantFrom(
    'Bearer ',
    'sk-',
    'abcdefg',
    '://',
    '@',
    ':',
    '?token=',
    'eyJ',
    '.',
    '-',
    ' ',
    'ghp_',
    '/',
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const once = redactShapes(pieces.join(''));
      return redactShapes(once) === once;
    }),
  );
  t.end();
});

t.test('LIF-13 · a long text of anything takes time linear in it', (t) => {
  const units = [
    ...' aeBs-_/:@=?.0A\n😀',
    'eyJ-',
    'eyJ.',
    'eyJa.',
    '://',
    '://a',
    'Bearer ',
    'sk-',
    'sk-a ',
    '?token=',
    'xoxb-',
    'ghp_',
    'AKIA',
  ];
  for (const unit of units) {
    const redact = (size: number) => {
      const text = unit.repeat(size / unit.length);
      return () => redactShapes(text);
    };
    t.ok(isLinear(redact, 500), JSON.stringify(unit));
  }
  t.end();
});
