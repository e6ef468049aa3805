import t from 'tap';
import { joinCommandLine, splitCommandLine } from '../../../../../runtime/inspector/page/data/command-line.ts';

t.test('INS-4 · a command line is taken apart as a shell does, and nothing in it is expanded', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['npx -y  pkg ~/reports', ['npx', '-y', 'pkg', '~/reports']],
    [`a "b c" 'd "e' f\\ g`, ['a', 'b c', 'd "e', 'f g']],
    [`a "x\\"y" 'z\\' ''`, ['a', 'x"y', 'z\\', '']],
    ['a "c:\\dir" ${NAME} $(x)', ['a', 'c:\\dir', '${NAME}', '$(x)']],
    ['  ', []],
  ];
  for (const [line, words] of rows) {
    t.same(splitCommandLine(line), { kind: 'words', words }, line);
    t.same(splitCommandLine(joinCommandLine(words)), { kind: 'words', words }, `${line}, joined`);
  }
  t.same(splitCommandLine('a "b'), { kind: 'open', quote: '"' });
  t.end();
});
