import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { configSchema } from '../../../machines/config/schema.ts';
import { validate } from '../../../machines/config/validate.ts';

t.test('CFG-1 · CFG-2 · every difference is a sentence with the name, what is asked and what is there', (t) => {
  const rows: readonly (readonly [schema: object, value: Json, message: string, code: string])[] = [
    [{ type: 'string' }, 7, '"a" must be a text; it is a number; put it in quotes', 'wrong-type'],
    [{ type: 'integer' }, 'x', '"a" must be a whole number; it is a text', 'wrong-type'],
    [{ type: 'number' }, Number.POSITIVE_INFINITY, '"a" must be a number; it is not finite', 'wrong-type'],
    [{ type: 'boolean' }, null, '"a" must be true or false; it is empty', 'wrong-type'],
    [{ type: 'integer' }, '8644', '"a" must be a whole number; it is a text; drop its quotes', 'wrong-type'],
    [{ type: 'array' }, 'push', '"a" must be a list; it is a text; write it as [a, b]', 'wrong-type'],
    [{ type: 'array' }, {}, '"a" must be a list; it is a mapping; write it as [{ a: b }]', 'wrong-type'],
    [{ type: 'object' }, [], '"a" must be a mapping; it is a list; write it as { a: b }', 'wrong-type'],
    [{ type: 'object' }, null, '"a" must be a mapping; it is empty; indent its keys below it', 'wrong-type'],
    [
      { type: 'object', required: ['to'] },
      'slack',
      '"a" must be a mapping; it is a text; write it as { to: … }',
      'wrong-type',
    ],
    [
      { type: 'number' },
      '30s',
      '"a" must be a number; it is a text; write the number alone, without a unit',
      'wrong-type',
    ],
    [{ type: ['string', 'null'] }, true, '"a" must be a text or null; it is true or false', 'wrong-type'],
    [
      { anyOf: [{ type: 'string' }, { type: 'array' }] },
      7,
      '"a" must be a text or a list; it is a number',
      'wrong-type',
    ],
    [
      { anyOf: [{ enum: ['x'] }, { type: 'array' }], description: 'x or a list' },
      7,
      '"a" must be x or a list; it is a number',
      'wrong-type',
    ],
    [{ enum: ['x', 'y'] }, 'z', '"a" must be one of x, y', 'wrong-value'],
    [{ type: 'string', minLength: 1 }, '', '"a" must not be empty', 'wrong-value'],
    [{ type: 'string', pattern: '^x$' }, 'y', '"a" must match pattern "^x$"', 'wrong-value'],
    [{ type: 'array', minItems: 2 }, [1], '"a" needs at least 2 items', 'wrong-value'],
    [{ type: 'array', maxItems: 1 }, [1, 2], '"a" holds at most 1 items', 'wrong-value'],
    [{ type: 'number', minimum: 1 }, 0, '"a" must be >= 1', 'wrong-value'],
    [{ type: 'number', maximum: 1 }, 2, '"a" must be <= 1', 'wrong-value'],
    [{ type: 'number', exclusiveMinimum: 0 }, 0, '"a" must be > 0', 'wrong-value'],
  ];
  for (const name of ['constructor', 'toString']) {
    const [found] = validate({ type: 'object', additionalProperties: false, properties: { a: {} } }, { [name]: 1 });
    t.equal(found?.message, `unknown key "${name}"; known are a`);
  }
  for (const [schema, value, message, code] of rows) {
    const findings = validate({ type: 'object', properties: { a: schema } }, { a: value });
    t.same(findings, [{ path: ['a'], message, code }], message);
  }
  t.end();
});

t.test('CFG-1 · a key that another program has is reported with ours', (t) => {
  const entry = { type: 'object', additionalProperties: false, properties: { url: {}, cwd: {} } };
  const schema = { properties: { mcp_servers: { type: 'object', additionalProperties: entry } } };
  const messages = (held: object) =>
    validate(schema, { mcp_servers: { a: held } } as Json).map(({ message }) => message);
  t.same(messages({ cmd: 'x', disabled: true, ulr: 'y' }), [
    'unknown key "cmd"; write command',
    'unknown key "disabled"; write enabled: false, or drop it',
    'unknown key "ulr"; did you mean "url"?',
  ]);
  t.end();
});

t.test('CFG-1 · a key in the wrong place is reported with its place, if there is one', (t) => {
  const messageOf = (held: Json) => validate(configSchema(), held)[0]?.message;
  const rows: readonly (readonly [Json, string])[] = [
    [{ telegram: { token: 'x' } }, 'unknown key "telegram"; write platforms.telegram'],
    [{ port: 9000 }, 'unknown key "port"; write platforms.webhook.extra.port'],
    [{ webhook: {} }, 'unknown key "webhook"; write platforms.webhook'],
    [{ routes: {} }, 'unknown key "routes"; write platforms.webhook.extra.routes'],
    [{ runner: 'echo' }, 'unknown key "runner"; write agent.runner'],
    [
      { platforms: { webhook: { extra: { script_timeout_seconds: 5 } } } },
      'unknown key "script_timeout_seconds"; write it on each route that has a script',
    ],
  ];
  for (const [held, message] of rows) t.equal(messageOf(held), message);
  const sent = (source: string) => messageOf({ platforms: { webhook: { extra: { routes: { r: { source } } } } } });
  t.match(
    sent('alertmanager'),
    /, google-chat; for another sender leave source out and declare its signature or token$/,
  );
  t.match(sent('strpe'), /; did you mean "stripe"\?$/);
  t.match(messageOf({ enabled: true }), /^unknown key "enabled"; known are /, 'of many places');
  t.equal(
    messageOf({ mcp_servers: { s: { command: ['npx', '-y', 'x'] } } }),
    '"mcp_servers.s.command" must be a text; it is a list; write its first word here, and the others as args',
  );
  t.notMatch(messageOf({ mcp_servers: { command: ['npx'] } }), 'as args', 'a server of that name');
  t.end();
});

t.test('CFG-1 · an unknown key is reported with the nearest known one, else with all of them', (t) => {
  const schema = { type: 'object', properties: { timeout: {}, enabled: {} }, additionalProperties: false };
  t.same(validate(schema, { timout: 1, zzzzzz: 2 }), [
    { path: ['timout'], message: 'unknown key "timout"; did you mean "timeout"?', code: 'unknown-key' },
    { path: ['zzzzzz'], message: 'unknown key "zzzzzz"; known are timeout, enabled', code: 'unknown-key' },
  ]);
  t.end();
});

t.test('CFG-2 · what is missing is reported at its holder, and the file as a whole has a name too', (t) => {
  const schema = { type: 'object', properties: { list: { items: { type: 'object', required: ['id'] } } } };
  t.same(validate(schema, { list: [{ id: 1 }, {}] }), [
    { path: ['list', '1'], message: '"list.1" lacks "id"', code: 'missing-key' },
  ]);
  t.same(validate(schema, 7), [
    { path: [], message: 'the file must be a mapping; it is a number; write it as { a: b }', code: 'wrong-type' },
  ]);
  t.same(validate(schema, {}), []);
  t.end();
});
