/**
 * Decodes the bytes of a body: UTF-8, or another charset that its sender names or once was usual.
 * @see LIM-3 in docs/specification.md
 */

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** Its characters from 0x80, where it differs from ISO 8859-1; the decoder of Node.js 20 takes one for the other. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

const habitual = /^(?:utf-8|windows-1252)$/;

/** Decodes a body; undefined if it is not UTF-8. */
export function decodeBody(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Decodes a text in the charset that its sender names. Without one, with an unknown one, and with one that is named out of
 * habit (UTF-8, US-ASCII, ISO 8859-1, Windows-1252), it is UTF-8 if it can be, else Windows-1252.
 */
export function decodeText(bytes: Buffer, label?: string): string {
  const named = label === undefined ? undefined : decoderOf(label);
  if (named !== undefined && !habitual.test(named.encoding)) return named.decode(bytes);
  return decodeBody(bytes) ?? decodeWindows1252(bytes);
}

/** Without a call for each character: anyone may send a form, and of 30 MB those took 13 s and a gigabyte. */
export function decodeWindows1252(bytes: Buffer): string {
  const units = Buffer.alloc(2 * bytes.length);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const unit = byte >= 0x80 && byte < 0xa0 ? windows1252.charCodeAt(byte - 0x80) : byte;
    units[2 * at] = unit;
    units[2 * at + 1] = unit >> 8;
  }
  return units.toString('utf16le');
}

/** Returns a decoder that never fails; undefined if the charset is none that is known. */
export function decoderOf(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
