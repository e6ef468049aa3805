/** Returns the text with its percent-encoding resolved; unchanged if one of its percent signs encodes nothing. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
