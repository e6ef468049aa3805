import t from 'tap';
import { checkRevision } from './check-revision.ts';

t.test('ERA-1 · ERA-3 · the required scenarios of 2025-11-25 pass', (t) => checkRevision(t, '2025-11-25'));
