import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { fileDocuments } from '../../actors/documents.ts';
import { documentsContract, type Opener } from '../conformance/documents.ts';
import { makeHome } from '../support/home.ts';
import { runs } from '../support/property.ts';

documentsContract(t, 'files', {
  async open(t) {
    const opener: Opener = { home: makeHome(t).path, documents: fileDocuments, seen: async () => {} };
    return [opener, opener];
  },
  histories: runs(100, 20),
});

t.test('OAU-2 · HOME-3 · texts are written private, and none where one cannot be', async (t) => {
  const home = makeHome(t).path;
  const path = join(home, 'mcp-tokens/hub.json');
  await fileDocuments.write([{ path, text: 'old' }]);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(statSync(join(home, 'mcp-tokens')).mode & 0o777, 0o700);
  mkdirSync(join(home, 'mcp-tokens/folder'));

  const writing = fileDocuments.write([
    { path, text: 'new' },
    { path: join(home, 'mcp-tokens/folder/inner/../../hub.json/x'), text: 'new' },
  ]);

  await t.rejects(writing);
  t.equal(readFileSync(path, 'utf8'), 'old');
});
