import t from 'tap';
import { parseEnvFile } from '../../../machines/config/env-file.ts';

t.test('HOME-2 · .env is read by the dotenv syntax', (t) => {
  const text =
    '# c\nA=1\nexport B = two words # note\nC="x\\ny\\"z"\nD=\'$A\\n\'\nE=\nF="multi\nline"\nG=a#b\nbad line\nA=2\n';
  t.same(
    [...parseEnvFile(text)],
    [
      ['A', '2'],
      ['B', 'two words'],
      ['C', 'x\ny"z'],
      ['D', '$A\\n'],
      ['E', ''],
      ['F', 'multi\nline'],
      ['G', 'a#b'],
    ],
  );
  t.end();
});
