/** Formats times, ages and names for people: short, and the same everywhere. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** An age or a remaining time: "now", "12 s", "4 min", "3 h 20 min", "2 d". */
export function formatSpan(spanMs: number): string {
  const span = Math.max(0, spanMs);
  if (span < secondMs) return 'now';
  if (span < minuteMs) return `${Math.floor(span / secondMs)} s`;
  if (span < hourMs) return `${Math.floor(span / minuteMs)} min`;
  if (span < dayMs) {
    const minutes = Math.floor((span % hourMs) / minuteMs);
    return `${Math.floor(span / hourMs)} h${minutes === 0 ? '' : ` ${minutes} min`}`;
  }
  const hours = Math.floor((span % dayMs) / hourMs);
  return `${Math.floor(span / dayMs)} d${hours === 0 ? '' : ` ${hours} h`}`;
}

/** The time between two steps: "+0 ms", "+1.4 s", "+3 min". */
export function formatStep(spanMs: number): string {
  const span = Math.max(0, spanMs);
  if (span < secondMs) return `+${Math.round(span)} ms`;
  if (span < 10 * secondMs) return `+${(span / secondMs).toFixed(1)} s`;
  return `+${formatSpan(span)}`;
}

/** A countdown that a person can follow: "0:09", "12:30", "3 h 20 min". */
export function formatCountdown(leftMs: number): string {
  const left = Math.max(0, leftMs);
  if (left >= hourMs) return formatSpan(left);
  const seconds = Math.ceil(left / secondMs);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The time of day to the second, with the day if it is not today, and the year if it is not this one. */
export function formatClock(at: string | number, nowMs: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const clock = timeOfDay(date, 3);
  const now = new Date(nowMs);
  if (date.toDateString() === now.toDateString()) return clock;
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const);
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })} ${clock}`;
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const fullTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

/**
 * The complete time with its zone, shown where a short one is pointed at: in the page's language and the Gregorian calendar
 * for any browser, and with the offset, since in the night in which clocks are set back an hour comes twice.
 */
export function formatFull(at: string | number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? '' : `${fullTime.format(date)} (${zone})`;
}

/** Formats a time as the browser's field needs it: without a zone, to the second; empty for what it cannot hold. */
export function localTime(iso: string): string {
  const date = new Date(iso);
  const year = date.getFullYear();
  if (Number.isNaN(year) || year < 1 || year > 9_999) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * minuteMs).toISOString().slice(0, 19);
}

/** Replaces the ISO 8601 times in a text of the daemon by local ones. */
export function withLocalTimes(text: string, nowMs: number): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (at) => formatClock(at, nowMs));
}

/** How long something took, rounded down: "9 ms", "12.4 s", "3 m 20 s", "6 d 2 h". */
export function formatTook(ms: number): string {
  const took = Math.max(0, ms);
  if (took < secondMs) return `${Math.floor(took)} ms`;
  if (took < minuteMs) return `${Math.floor(took / 100) / 10} s`;
  const [unit, unitMs, lower, lowerMs] =
    took < hourMs
      ? (['m', minuteMs, 's', secondMs] as const)
      : took < dayMs
        ? (['h', hourMs, 'm', minuteMs] as const)
        : (['d', dayMs, 'h', hourMs] as const);
  const rest = Math.floor((took % unitMs) / lowerMs);
  return `${Math.floor(took / unitMs)} ${unit}${rest === 0 ? '' : ` ${rest} ${lower}`}`;
}

/** The start of a time span on an axis: the time of day, with the day if spans are long. */
export function formatTime(at: string | number, widthMs: number): string {
  if (widthMs >= minuteMs) return clockOf(at, widthMs > 30 * minuteMs);
  return timeOfDay(new Date(at), 3);
}

/** The time of day to the minute: "14:29", with the day "21 Nov 14:29". */
export function clockOf(at: string | number, isDated: boolean): string {
  const date = new Date(at);
  const clock = timeOfDay(date, 2);
  return isDated ? `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}` : clock;
}

/** @param parts 2 for hours and minutes, 3 with the seconds */
function timeOfDay(date: Date, parts: 2 | 3): string {
  const all = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0'));
  return all.slice(0, parts).join(':');
}

/** camelCase as words: `readingBody` is "reading body". */
export function formatWord(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
}

/** A text that begins with the name of a file or of a key begins as that is written. */
export function sentenceCase(words: string): string {
  return /^[\w-]*[._/][\w-]/.test(words) ? words : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** A state for people: the innermost name of each region, in words. `up.needsLogin` is "needs login". */
export function formatState(state: string): string {
  return state
    .split(' ')
    .map((part) => formatWord(part.slice(part.lastIndexOf('.') + 1)))
    .join(', ');
}

/** Returns the last part of an actor's address, which identifies it among its siblings. */
export function lastPart(id: string, parent: string | null): string {
  if (parent !== null && id.startsWith(`${parent}/`)) return id.slice(parent.length + 1);
  const room = parent?.slice(parent.lastIndexOf('/') + 1);
  if (room !== undefined && id.startsWith(`${room}/`)) return id.slice(room.length + 1);
  return id;
}

/** A count of things: "1 tool", "3 tools". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
