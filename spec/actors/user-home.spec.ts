import t from 'tap';
import { userHomeFolder } from '../../actors/user-home.ts';

t.test('HOME-1 · a user whom the system does not list has no home folder, and no command ends by that', (t) => {
  t.equal(
    userHomeFolder(() => {
      throw new Error('uv_os_homedir returned ENOENT');
    }),
    '',
  );
  t.equal(
    userHomeFolder(() => '/home/ada'),
    '/home/ada',
  );
  t.end();
});
