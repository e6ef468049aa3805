/** A text as one word of a shell command: as it is if it is plain, otherwise quoted. */
export function shellWord(text: string): string {
  return /^[\w.@:/+-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
