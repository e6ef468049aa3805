import t from 'tap';
import { boundBody } from '../../../actors/mcp/bounded-body.ts';
import { createTurnShare, maxLinesInTurn } from '../../../actors/mcp/turn-share.ts';

/** Bounds a body; counts how often its end is reported. */
async function bound(response: Response, maxBytes: number) {
  const reported = { ends: 0 };
  const ended = (): void => {
    reported.ends += 1;
  };
  return { bounded: await boundBody(response, { maxBytes, ended }), reported };
}

t.test('LIF-13 · a body up to the cap passes with status and headers', async (t) => {
  const { bounded, reported } = await bound(new Response('1234', { status: 404, headers: { 'x-a': 'b' } }), 4);
  t.equal(bounded.status, 404);
  t.equal(bounded.headers.get('x-a'), 'b');
  t.equal(reported.ends, 0);
  t.equal(await bounded.text(), '1234');
  t.equal(reported.ends, 1);
});

t.test('LIF-13 · a longer one fails, before it is read where it says so', async (t) => {
  const longer = await bound(new Response('12345'), 4);
  await t.rejects(longer.bounded.text(), { message: 'its answer has more than 4 bytes' });
  t.equal(longer.reported.ends, 1);
  const declared = new Response('12345', { headers: { 'content-length': '5' } });
  await t.rejects(bound(declared, 4), { message: 'its answer has more than 4 bytes' });
});

t.test('LIF-13 · an answer without a body is left alone', async (t) => {
  const empty = new Response(null, { status: 204 });
  const { bounded, reported } = await bound(empty, 4);
  t.equal(bounded, empty);
  t.equal(reported.ends, 1);
});

t.test('LIF-13 · a body that breaks, and one that is cancelled, has ended too', async (t) => {
  const broken = await bound(
    new Response(
      new ReadableStream({
        pull: (controller) => controller.error(new Error('broke')),
      }),
    ),
    4,
  );
  await t.rejects(broken.bounded.text(), { message: 'broke' });
  t.equal(broken.reported.ends, 1);
  let cancelled: unknown;
  const left = await bound(
    new Response(
      new ReadableStream({
        cancel: (reason) => {
          cancelled = reason;
        },
      }),
    ),
    4,
  );
  await left.bounded.body?.cancel('enough');
  t.equal(cancelled, 'enough');
  t.equal(left.reported.ends, 1);
  const underWay = await bound(new Response(new ReadableStream({})), 4);
  const reader = underWay.bounded.body?.getReader();
  const read = reader?.read();
  await reader?.cancel();
  await read;
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(underWay.reported.ends, 1, 'once, though a read was under way');
});

function stream(chunks: readonly string[]): Response {
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
  return new Response(ReadableStream.from(bytes), { headers: { 'content-type': 'Text/Event-Stream; charset=utf-8' } });
}

t.test('LIF-13 · a stream of events may go on for ever, and none of its events', async (t) => {
  const rows: readonly (readonly [readonly string[], 'passes' | 'fails'])[] = [
    [Array.from({ length: 50 }, () => 'data: 1\n\n'), 'passes'],
    [Array.from({ length: 50 }, () => 'data: 1\r\r'), 'passes'],
    [Array.from({ length: 50 }, () => 'data: 1\r\n\r\n'), 'passes'],
    [Array.from({ length: 50 }, () => ['data: 1\n', '\n']).flat(), 'passes'],
    [Array.from({ length: 50 }, () => ['data: 1\r', '\n', '\r', '\n']).flat(), 'passes'],
    [[...'data: 1\n\n'.repeat(20)], 'passes'],
    [['data: 1\n\n'.repeat(50)], 'passes'],
    [['data: 1\n\n', 'data: 123', '4567890', '1234567890'], 'fails'],
    [Array.from({ length: 50 }, () => 'data: 1\n'), 'fails'],
  ];
  for (const [chunks, expected] of rows) {
    const { text, name } = { text: chunks.join(''), name: JSON.stringify(chunks).slice(0, 80) };
    const { bounded, reported } = await bound(stream(chunks), 20);
    if (expected === 'passes') t.equal(await bounded.text(), text, name);
    else await t.rejects(bounded.text(), { message: 'an event of its stream has more than 20 bytes' }, name);
    t.equal(reported.ends, 1);
  }
});

t.test('LIF-14 · of an event stream one turn hands over no more than its share, and nothing is lost', async (t) => {
  const text = 'data: {}\n\n'.repeat(2_000);
  const flood = new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const share = createTurnShare();
  const bounded = await boundBody(flood, { maxBytes: 100, ended: () => {}, share });
  let inTurn = 0;
  let max = 0;
  let read = '';
  const decoder = new TextDecoder();
  for await (const chunk of bounded.body as unknown as AsyncIterable<Uint8Array>) {
    const piece = decoder.decode(chunk);
    if (inTurn === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    inTurn += piece.split('\n').length - 1;
    max = Math.max(max, inTurn);
    read += piece;
  }
  t.equal(read, text);
  // The piece that was read ahead may join that of the turn.
  t.equal(maxLinesInTurn, 16);
  t.ok(max <= 2 * maxLinesInTurn, `${max} lines in one turn`);
});

t.test(
  'LIF-14 · a message of more values, or nested deeper, than are read is refused, whatever hides them',
  async (t) => {
    const json = (text: string): Response => new Response(text, { headers: { 'content-type': 'application/json' } });
    const many = '[0,'.repeat(500_001);
    const deep = '['.repeat(131_073);
    const rows: readonly (readonly [string, Response, 'passes' | 'fails'])[] = [
      ['values', json(many), 'fails'],
      ['depth', json(deep), 'fails'],
      ['in strings', json(`["${many}\\"${deep}\\\\"]`), 'passes'],
      ['behind an escaped quote', json(`["\\"",${deep}`), 'fails'],
      [
        'over lines of one event',
        stream([...Array<string>(2)].map(() => `data: ${'[],'.repeat(300_000)}\r\n`)),
        'fails',
      ],
      ['behind brackets that close', stream([`: ${']'.repeat(200_000)}\ndata: ${deep}\n\n`]), 'fails'],
      [
        'around brackets that close',
        stream([`data: ${deep.slice(9)}\n`, `: ${']'.repeat(100_000)}\n`, `data: ${deep.slice(9)}\n\n`]),
        'fails',
      ],
      ['behind a quote of another line', stream([`: "\ndata: ${deep}\n\n`]), 'fails'],
      ['of several events', stream([...Array<string>(4)].map(() => `data: ${'0,'.repeat(400_000)}\r\n\r\n`)), 'passes'],
      [
        'of several events with a return',
        stream([...Array<string>(4)].map(() => `data: ${'0,'.repeat(400_000)}\r\r`)),
        'passes',
      ],
    ];
    for (const [name, response, expected] of rows) {
      const { bounded, reported } = await bound(response, 10_000_000);
      if (expected === 'passes') t.ok(await bounded.text(), name);
      else await t.rejects(bounded.text(), { message: /more than 1000000 values, or is nested more than/ }, name);
      t.equal(reported.ends, 1);
    }
  },
);
