import t from 'tap';
import { plainChallenge } from '../../../machines/oauth/plain-challenge.ts';

t.test('OAU-1 · the Bearer challenge is read wherever it is, and however it is quoted', (t) => {
  const metadata = 'https://a.example/.well-known/oauth-protected-resource?x=1';
  const plain = `Bearer resource_metadata="${metadata}", scope="a b"`;
  const rows: readonly (readonly [string, string])[] = [
    [plain, plain],
    [`bearer  resource_metadata = "${metadata}" , scope= "a b"`, plain],
    [`Bearer resource_metadata='${metadata}', scope='a b'`, plain],
    [`Bearer resource_metadata=${metadata}, scope="a b"`, plain],
    [`Basic realm="Bearer scope=none, or more", Bearer resource_metadata="${metadata}", scope="a b"`, plain],
    [`Negotiate, Bearer resource_metadata="${metadata}", scope="a b", Basic realm="x"`, plain],
    [`Negotiate YWJj==, Bearer resource_metadata="${metadata}", scope="a b"`, plain],
    ['Bearer error="x", error_description="the \\"new\\" one"', 'Bearer error="x", error_description="the new one"'],
    ['Bearer', 'Bearer'],
    ['Basic realm="x"', 'Basic realm="x"'],
    ['DPoP algs="ES256", scope="a"', 'DPoP algs="ES256", scope="a"'],
    ['', ''],
  ];
  for (const [header, expected] of rows) t.equal(plainChallenge(header), expected, header);
  t.end();
});
