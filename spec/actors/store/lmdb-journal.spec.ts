import t from 'tap';
import { openLmdbJournal } from '../../../actors/store/lmdb-journal.ts';
import { journalContract } from '../../conformance/journal.ts';

let stores = 0;
const home = t.testdir();
journalContract(t, 'lmdb', {
  async open() {
    stores += 1;
    const opened = await openLmdbJournal({ directory: `${home}/${stores}` });
    if (!opened.ok) throw new Error(opened.fault.message);
    return opened.value;
  },
  histories: 100,
});
