import t from 'tap';
import {
  counted,
  formatClock,
  formatCountdown,
  formatSpan,
  formatStep,
  formatWord,
  lastPart,
  sentenceCase,
  withLocalTimes,
} from '../../../../../runtime/inspector/page/data/format.ts';

const hour = 3_600_000;

t.test('INS-2 · ages, steps and countdowns are short', async (t) => {
  const spans = [
    [-5, 'now'],
    [999, 'now'],
    [12_400, '12 s'],
    [240_000, '4 min'],
    [3 * hour, '3 h'],
    [3 * hour + 1_200_000, '3 h 20 min'],
    [50 * hour, '2 d 2 h'],
  ] as const;
  for (const [span, words] of spans) t.equal(formatSpan(span), words);
  const steps = [
    [0, '+0 ms'],
    [12.4, '+12 ms'],
    [1_440, '+1.4 s'],
    [70_000, '+1 min'],
  ] as const;
  for (const [span, words] of steps) t.equal(formatStep(span), words);
  const left = [
    [-1, '0:00'],
    [8_100, '0:09'],
    [750_000, '12:30'],
    [2 * hour, '2 h'],
  ] as const;
  for (const [span, words] of left) t.equal(formatCountdown(span), words);
});

t.test('INS-2 · a time of another day names the day, one of another year the year', async (t) => {
  const now = new Date(2026, 10, 21, 12, 0, 0).getTime();
  t.equal(formatClock(now - hour, now), '11:00:00');
  t.equal(formatClock(now - 24 * hour, now), '20 Nov 12:00:00');
  t.equal(formatClock(new Date(2025, 10, 21, 12, 0, 0).getTime(), now), '21 Nov 2025 12:00:00');
  t.equal(formatClock('no time', now), '');
  const text = `approved at ${new Date(now - hour).toISOString()}.`;
  t.equal(withLocalTimes(text, now), 'approved at 11:00:00.', 'the times in a text of the daemon are local');
});

t.test('INS-2 · an actor is named by what its parent does not say', async (t) => {
  t.equal(lastPart('gateway/runs', 'gateway'), 'runs');
  t.equal(lastPart('runs/r1', 'gateway/runs'), 'r1');
  t.equal(lastPart('groups/default/deploys/prod', 'gateway/groups'), 'default/deploys/prod');
  t.equal(lastPart('journal', 'supervisor'), 'journal');
  t.equal(lastPart('supervisor', null), 'supervisor');
});

t.test('INS-2 · words and counts read as people write them', async (t) => {
  t.equal(formatWord('readingBody'), 'reading body');
  t.equal(sentenceCase('no answer in 5 s.'), 'No answer in 5 s.');
  for (const named of ['config.yaml:1: no mapping', 'connect_timeout is too short', './bin/x is not there'])
    t.equal(sentenceCase(named), named, 'a name keeps its first letter');
  t.equal(counted(1, 'tool'), '1 tool');
  t.equal(counted(10_000, 'tool'), '10,000 tools');
  t.equal(counted(2, 'delivery', 'deliveries'), '2 deliveries');
});
