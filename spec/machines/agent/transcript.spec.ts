import t from 'tap';
import { createTranscript, transcriptJson } from '../../../machines/agent/transcript.ts';

t.test('DIS-3 · a transcript is redacted, and bounded in each text and in all', (t) => {
  const transcript = createTranscript((text) => text.replaceAll('secret', '[redacted]'));
  transcript.add({ kind: 'prompt', text: 'a secret' });
  transcript.add({ kind: 'call', id: 'c', tool: 'look', text: '{"key":"secret"}' });
  transcript.add({ kind: 'result', id: 'c', text: 'y'.repeat(20_000), isError: false });
  const [prompt, call, result] = transcript.entries();
  t.same(prompt, { kind: 'prompt', text: 'a [redacted]' });
  t.same(call, { kind: 'call', id: 'c', tool: 'look', text: '{"key":"[redacted]"}' });
  t.match(result, { text: /^y{16384} … \[3616 characters left out\]$/ });
  for (let index = 0; index < 100; index += 1) {
    transcript.add({ kind: 'result', id: 'c', text: 'z'.repeat(20_000), isError: false });
  }
  t.ok(JSON.stringify(transcript.entries()).length < 600_000);
  t.end();
});

t.test('DIS-3 · a transcript has so many entries at most', (t) => {
  const transcript = createTranscript((text) => text);
  for (let index = 0; index < 3_000; index += 1) transcript.add({ kind: 'again', text: '' });
  t.equal(transcript.entries().length, 2_000);
  t.end();
});

t.test('DIS-3 · CON-4 · its entries are written as all rows are', (t) => {
  const rows = transcriptJson([
    { kind: 'prompt', text: 'p' },
    { kind: 'answer', text: 'a', inputTokens: 1, outputTokens: 2 },
    { kind: 'again', text: 'why' },
    { kind: 'call', id: 'c', tool: 'look', text: '{}' },
    { kind: 'result', id: 'c', text: 'seen', isError: true },
  ]);
  t.same(rows, [
    { kind: 'prompt', text: 'p' },
    { kind: 'answer', text: 'a', input_tokens: 1, output_tokens: 2 },
    { kind: 'again', text: 'why' },
    { kind: 'call', id: 'c', tool: 'look', arguments: '{}' },
    { kind: 'result', id: 'c', text: 'seen', is_error: true },
  ]);
  t.end();
});
