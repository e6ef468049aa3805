import t from 'tap';
import { editVariable, keptQuotes, parseEnvFile } from '../../../machines/config/env-file.ts';
import { fc } from '../../support/property.ts';

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

t.test('HOME-4 · a quote without its end takes no line below with it', (t) => {
  for (const text of [`A='tis\nB='x'\n`, `A="a\nB="x"\n`, `A='x'y'\nB=x\n`, `A="x"#y\nB=x\n`]) {
    const after = parseEnvFile(editVariable(text, 'A', 'new'));
    t.same(
      [...after],
      [
        ['A', 'new'],
        ['B', 'x'],
      ],
      text,
    );
  }
  t.end();
});

t.test('CFG-2 · HOME-2 · a quote without its end is a part of the value, and its line is named', (t) => {
  const text = `A="x\ny"\r\nB='y # note\r\nC="a","b"\nD=it's\nE="\\"" # "\nF='x' y'\nexport G = "x\n`;
  const { B, G } = Object.fromEntries(parseEnvFile(text));
  t.strictSame([B, G], ["'y", '"x']);
  t.strictSame(keptQuotes(text), [3, 7, 8]);
  t.strictSame(keptQuotes('\uFEFFA="x'), [1]);
  const names = `A=O'Brien\nB='O'Brien'\nC={"a":"it's"}\nD="{"a":"b"}" # note\nE='[1, "x"]'\nF='{"a":"it's","b":"it's"}'`;
  t.strictSame(keptQuotes(names), [2, 4, 6]);
  t.end();
});

t.test('HOME-4 · CLI-1 · a variable is set in its place, and reads back as it was given', (t) => {
  t.equal(editVariable('', 'A', 'x'), 'A=x\n');
  t.equal(editVariable('# c\n\nB=1', 'A', 'x'), '# c\n\nB=1\nA=x\n');
  t.equal(editVariable('\uFEFFA=1\r\nB=1\r\n', 'A', 'x'), '\uFEFFA=x\r\nB=1\r\n');
  t.equal(
    editVariable('# c\n\nexport A="two\nlines" # why\nB=1\n', 'A', 'x'),
    '# c\n\nexport A=x # why\nB=1\n',
    'also one of several lines',
  );
  t.equal(editVariable('A=old # why\n', 'A', 'x'), 'A=x # why\n', 'a comment stays');
  t.equal(editVariable('B=1\r\n', 'A', 'x'), 'B=1\r\nA=x\r\n', 'a new line ends as the others do');
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'ab$"\'\\#= \n\r{}') }),
      (value) => parseEnvFile(editVariable('A=old\nB=2\n', 'A', value)).get('A') === value,
    ),
  );
  t.end();
});

t.test('HOME-4 · a line within the value of another variable is no variable', (t) => {
  const text = 'KEY="one\nA=within\n"\n';
  t.equal(editVariable(text, 'A', 'x'), `${text}A=x\n`);
  t.equal(editVariable(`${text}A=1\n`, 'A', 'x'), `${text}A=x\n`);
  t.end();
});
