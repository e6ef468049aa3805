import t from 'tap';
import { createSchemaTime } from '../../../actors/mcp/schema-time.ts';
import { utilityTools } from '../../../actors/mcp/utility-tools.ts';
import { checkArguments } from '../../../actors/mcp/validate-arguments.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { opened } from '../../support/mcp/open-session.ts';

t.test('NAM-1 · FLT-2 · the four utilities ask the server for its resources and prompts, in each era', async (t) => {
  for (const kind of ['http', 'modern'] as const) {
    const peer = await started(t, { kind });
    const { session } = await opened(t, { url: peer.url });
    const call = async (utility: keyof typeof utilityTools, args: JsonObject = {}) =>
      JSON.stringify(await session.callUtility(utility, args, { signal: new AbortController().signal }));
    t.match(await call('list_resources'), /note:\/\/one/, kind);
    t.match(await call('read_resource', { uri: 'note://one' }), /"type":"resource".*the first note/, kind);
    t.match(await call('list_prompts'), /greet/, kind);
    t.match(await call('get_prompt', { name: 'greet', arguments: { who: 'Ada' } }), /Ada/, kind);
    t.match(await call('read_resource', { uri: 'note://none' }), /"kind":"refused"/, `${kind}: an error is a refusal`);
  }
});

t.test('TRU-1 · FLT-2 · utilities only read, and say what they take', (t) => {
  for (const [name, tool] of Object.entries(utilityTools)) {
    t.equal(tool.name, name);
    t.same(tool.annotations, { readOnlyHint: true }, name);
  }
  const rows = [
    ['read_resource', { uri: 'x' }, true],
    ['read_resource', {}, false],
    ['get_prompt', { name: 'x' }, true],
    ['get_prompt', { name: 'x', arguments: { who: 1 } }, false],
    ['list_prompts', { more: 1 }, false],
  ] as const;
  for (const [utility, args, fits] of rows) {
    const verdict = checkArguments(utilityTools[utility].inputSchema as JsonObject, args, createSchemaTime().forOne());
    t.equal(verdict.kind, fits ? 'fits' : 'invalid', JSON.stringify(args));
  }
  t.end();
});
