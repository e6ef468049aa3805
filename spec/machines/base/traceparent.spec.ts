import t from 'tap';
import { carriedTraceparent, formatTraceparent, readTraceparent } from '../../../machines/base/traceparent.ts';
import { fc } from '../../support/property.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

t.test('OBS-1 · a traceparent is read as W3C spells it, and what does not fit is none', (t) => {
  const rows: readonly (readonly [string | undefined, boolean | undefined])[] = [
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-03`, true],
    [`cc-${traceId}-${spanId}-01-what-is-new`, true],
    [`ff-${traceId}-${spanId}-01`, undefined],
    [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
    [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    [`00-${traceId}-${spanId}`, undefined],
    [`00-${traceId}-${spanId}-01\r\nx: y`, undefined],
    ['', undefined],
    [undefined, undefined],
  ];
  for (const [text, sampled] of rows) t.equal(readTraceparent(text)?.sampled, sampled, text ?? 'none');
  t.end();
});

t.test('OBS-1 · what is passed on is of the one form, whatever came', (t) => {
  const form = /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/;
  const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.tuple(hex(32), hex(16), hex(2)).map((parts) => `00-${parts.join('-')}`),
      ),
      (text) => {
        const carried = carriedTraceparent(text);
        return carried === undefined || form.test(carried);
      },
    ),
  );
  const parts = { traceId, spanId, sampled: true };
  t.same(readTraceparent(formatTraceparent(parts)), parts);
  t.end();
});
