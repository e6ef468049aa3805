/** The records, of which the page takes types alone, import it. */
declare module 'node:crypto';
