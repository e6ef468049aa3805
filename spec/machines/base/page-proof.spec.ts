import t from 'tap';
import { daemonProofText, pageProofText } from '../../../machines/base/page-proof.ts';

const words = { id: 'i', origin: 'http://127.0.0.1:8645', nonce: 'n' };

t.test('SEC-1 · no two different claims are signed by the same text', (t) => {
  const texts = [
    pageProofText(words),
    pageProofText({ ...words, id: 'other' }),
    pageProofText({ ...words, origin: 'http://127.0.0.1:8646' }),
    pageProofText({ ...words, nonce: 'other' }),
    pageProofText({ ...words, nonce: 'n","c' }),
    daemonProofText(words, ''),
    daemonProofText(words, 'c'),
    daemonProofText({ ...words, nonce: 'n","c' }, ''),
    daemonProofText({ ...words, nonce: 'nc' }, ''),
  ];
  t.equal(new Set(texts).size, texts.length);
  t.equal(pageProofText(words), '["page","i","http://127.0.0.1:8645","n"]');
  t.equal(daemonProofText(words, 'c'), '["daemon","i","http://127.0.0.1:8645","n","c"]');
  t.end();
});
