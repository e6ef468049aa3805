import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { boolLike, readServerSettings, type ToolPolicy } from '../../../machines/mcp/server-settings.ts';
import { chooseTools, idlePatterns } from '../../../machines/mcp/tool-filter.ts';

const natives = ['list-items', 'list.users', 'delete-item', 'Delete-All', 'a[b]', 'get_item'];
const none = { resources: false, prompts: false };

function policy(given: Partial<ToolPolicy>): ToolPolicy {
  return { exclude: [], resources: true, prompts: true, ...given };
}

function configured(tools: Json): ToolPolicy {
  return readServerSettings(normaliseServerEntry('s', { command: 'x', tools })).tools;
}

t.test('FLT-1 · a pattern that matches no tool is reported with the nearest name', (t) => {
  const rows: readonly (readonly [Partial<ToolPolicy>, readonly RegExp[]])[] = [
    [{}, []],
    [{ include: [] }, []],
    [{ include: ['list-items', 'get*', 'a[b]'], exclude: ['unknown'] }, []],
    [
      { include: ['list_items', 'x*'] },
      [
        /^tools\.include has "list_items", which matches no tool; did you mean "list-items"\?$/,
        /^tools\.include has "x\*", which matches no tool; correct it, or drop it$/,
      ],
    ],
    [
      { exclude: ['mcp__s__list_items'] },
      [/^tools\.exclude has "mcp__s__list_items", .* did you mean "list-items"\?$/],
    ],
    [{ exclude: ['get_items', 'list*'] }, [/^tools\.exclude has "get_items", .* did you mean "get_item"\?$/]],
  ];
  for (const [given, expected] of rows) t.match(idlePatterns(policy(given), natives), expected, JSON.stringify(given));
  for (const [given, { length }] of rows) t.equal(idlePatterns(policy(given), natives).length, length);
  t.end();
});

t.test('FLT-1 · include and exclude choose by the original names, include wins', (t) => {
  const rows: readonly (readonly [Partial<ToolPolicy>, readonly string[]])[] = [
    [{}, natives],
    [{ include: ['list-items'] }, ['list-items']],
    [{ include: ['list_items'] }, []],
    [{ include: ['list*'] }, ['list-items', 'list.users']],
    [{ include: ['get_item', 'list*'] }, ['list-items', 'list.users', 'get_item']],
    [{ include: ['unknown'] }, []],
    [{ include: [] }, []],
    [{ include: [], exclude: ['list*'] }, []],
    [{ exclude: ['*'] }, []],
    [{ exclude: ['delete-*'] }, ['list-items', 'list.users', 'Delete-All', 'a[b]', 'get_item']],
    [{ exclude: ['[dD]elete-*', 'a*'] }, ['list-items', 'list.users', 'get_item']],
    [{ include: ['delete-item'], exclude: ['delete-*'] }, ['delete-item']],
    [{ include: ['list*'], exclude: ['*'] }, ['list-items', 'list.users']],
    [{ include: ['a[b]'] }, ['a[b]']],
    [{ include: ['LIST*'] }, []],
  ];
  for (const [given, expected] of rows)
    t.same(chooseTools(policy(given), natives, none).natives, expected, JSON.stringify(given));
  t.end();
});

t.test('FLT-1 · a list may be one text, and an empty include is no missing one', (t) => {
  t.same(chooseTools(configured({ include: 'list*' }), natives, none).natives, ['list-items', 'list.users']);
  t.same(chooseTools(configured({ exclude: '[!l]*' }), natives, none).natives, ['list-items', 'list.users']);
  t.same(chooseTools(configured({ include: [] }), natives, none).natives, []);
  t.same(chooseTools(configured({}), natives, none).natives, natives);
  t.end();
});

t.test('FLT-2 · a utility needs its flag and the capability of the session', (t) => {
  const resources = ['list_resources', 'read_resource'];
  const prompts = ['list_prompts', 'get_prompt'];
  const rows: readonly (readonly [boolean, boolean, boolean, boolean, readonly string[]])[] = [
    [true, true, true, true, [...resources, ...prompts]],
    [true, true, false, false, []],
    [false, false, true, true, []],
    [true, false, true, true, resources],
    [false, true, true, true, prompts],
    [true, true, true, false, resources],
    [true, true, false, true, prompts],
    [true, false, false, true, []],
  ];
  for (const [resourceFlag, promptFlag, resourcesHeld, promptsHeld, expected] of rows) {
    const given = policy({ include: [], resources: resourceFlag, prompts: promptFlag });
    const { utilities } = chooseTools(given, natives, { resources: resourcesHeld, prompts: promptsHeld });
    t.same(utilities, expected, JSON.stringify([resourceFlag, promptFlag, resourcesHeld, promptsHeld]));
  }
  t.end();
});

t.test('FLT-2 · an include or exclude list does not touch the utilities', (t) => {
  const { utilities } = chooseTools(policy({ exclude: ['*'] }), natives, { resources: true, prompts: false });
  t.same(utilities, ['list_resources', 'read_resource']);
  t.end();
});

t.test('FLT-2 · the flags take the bool-like words in any case', (t) => {
  for (const word of [true, 1, 'true', '1', 'yes', 'on', 'TRUE', 'Yes', 'ON'])
    t.equal(boolLike(word, false), true, String(word));
  for (const word of [false, 0, 'false', '0', 'no', 'off', 'False', 'NO', 'Off'])
    t.equal(boolLike(word, true), false, String(word));
  t.match(configured({ resources: 'off', prompts: 0 }), { resources: false, prompts: false });
  t.match(configured({}), { resources: true, prompts: true });
  t.end();
});
