/** A text as one word of a shell command: as it is if it is plain, otherwise quoted. */
export function shellWord(text: string): string {
  return /^[\w.@:/+-]+$/.test(text) && !text.startsWith('-') ? text : quotedWord(text);
}

/** Any text as one word of a shell command, always in quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
