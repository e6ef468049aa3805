import t from 'tap';
import { commands } from '../../../runtime/control/commands.ts';
import { homeMethods } from '../../../runtime/control/home-methods.ts';

t.test('CLI-2 · the methods that need no daemon are those whose commands say so', (t) => {
  const ofHome = [...commands].filter(([, { access }]) => access === 'home').map(([name]) => name);
  t.same([...homeMethods].sort(), ofHome.sort());
  t.end();
});
