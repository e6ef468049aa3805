import t from 'tap';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { journalContract } from '../../conformance/journal.ts';

journalContract(t, 'memory', { open: async () => openMemoryJournal(), histories: 300 });
