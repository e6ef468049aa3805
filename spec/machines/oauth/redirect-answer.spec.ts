import t from 'tap';
import { type ExpectedAnswer, pastedQuery, readRedirect } from '../../../machines/oauth/redirect-answer.ts';
import { fc } from '../../support/property.ts';

const issuer = 'https://as.example';
const expected: ExpectedAnswer = { state: 'st', issuer, issPromised: false };
const promised: ExpectedAnswer = { ...expected, issPromised: true };
const iss = `iss=${encodeURIComponent(issuer)}`;

t.test('OAU-1 · state first, then the issuer, then an error, then the code', (t) => {
  const refused = (why: RegExp) => ({ kind: 'refused', why });
  const rows: readonly (readonly [string, ExpectedAnswer, object])[] = [
    ['code=c&state=st', expected, { kind: 'code', code: 'c' }],
    [`code=c&state=st&${iss}`, expected, { kind: 'code', code: 'c', iss: issuer }],
    [`code=c&state=st&${iss}`, promised, { kind: 'code', code: 'c', iss: issuer }],
    ['code=c&state=other', expected, refused(/another state/)],
    ['code=c', expected, refused(/another state/)],
    ['', expected, refused(/another state/)],
    ['error=access_denied&state=other', expected, refused(/another state/)],
    ['code=c&state=st', promised, refused(/lacks the issuer/)],
    ['code=c&state=st&iss=https%3A%2F%2Fevil.example', expected, refused(/another issuer/)],
    [`code=c&state=st&${iss}%2F`, expected, refused(/another issuer/)],
    ['code=c&state=st&iss=', expected, refused(/another issuer/)],
    ['error=access_denied&state=st', promised, refused(/lacks the issuer/)],
    ['error=access_denied&state=st', expected, refused(/refused: access_denied$/)],
    [
      'error=access_denied&error_description=not%0Atoday&state=st',
      expected,
      refused(/refused: access_denied \(not today\)$/),
    ],
    ['error=x&code=c&state=st', expected, { ...refused(/refused: x$/), errorCode: 'x' }],
    ['state=st', expected, refused(/neither a code nor an error/)],
    ['code=&state=st', expected, refused(/neither a code nor an error/)],
  ];
  for (const [query, answer, verdict] of rows) t.match(readRedirect(query, answer), verdict, query);
  t.end();
});

t.test('OAU-1 · an answer of somebody else is not quoted', (t) => {
  for (const query of ['state=other&error=phish', 'state=st&iss=https%3A%2F%2Fe&error=phish&error_description=phish']) {
    const answer = readRedirect(query, expected);
    t.notMatch(JSON.stringify(answer), /phish/, query);
  }
  t.end();
});

t.test('OAU-1 · without this state there is never a code, whatever the query', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (query) => {
      const { state } = Object.fromEntries(new URLSearchParams(query));
      return state === 'st' || readRedirect(query, expected).kind === 'refused';
    }),
  );
  t.end();
});

t.test('OAU-8 · what is pasted is a whole address with a query, or nothing', (t) => {
  t.equal(pastedQuery(' http://127.0.0.1:1/callback?code=c&state=s \n'), 'code=c&state=s');
  t.equal(pastedQuery('https://tunnel.example/cb?code=c#x'), 'code=c');
  t.equal(pastedQuery('http://127.0.0.1:1/callback?error=no&state=s'), 'error=no&state=s');
  for (const text of [
    'https://as.example/authorize?response_type=code&client_id=c&code_challenge=x&state=s',
    '',
    'code=c&state=s',
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:1/callback?',
    'nonsense',
  ]) {
    t.equal(pastedQuery(text), undefined, text);
  }
  t.end();
});
