import t from 'tap';
import { wireName } from '../../../machines/mcp/wire-name.ts';

t.test('NAM-1 · DIS-3 · a name that an endpoint would refuse is cut and kept distinct', (t) => {
  t.equal(wireName('mcp__github__get_issue'), 'mcp__github__get_issue');
  const long = `mcp__${'x'.repeat(70)}`;
  t.match(wireName(`${long}1`), /^[\w-]{64}$/);
  t.not(wireName(`${long}1`), wireName(`${long}2`));
  t.match(wireName('ü'), /^__[0-9a-f]{10}$/);
  t.end();
});
