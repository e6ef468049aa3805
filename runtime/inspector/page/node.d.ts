/** The module of the records imports it; the page uses only its types. */
declare module 'node:crypto';
