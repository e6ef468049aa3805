/** Spells times, ages and names for people: short, the same everywhere. Knows no actor and no page. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long ago or how long still: "now", "12 s", "4 min", "3 h 20 min", "2 d". */
export function spellSpan(spanMs: number): string {
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

/** The time between two steps, finely: "+0 ms", "+1.4 s", "+3 min". */
export function spellStep(spanMs: number): string {
  const span = Math.max(0, spanMs);
  if (span < secondMs) return `+${Math.round(span)} ms`;
  if (span < 10 * secondMs) return `+${(span / secondMs).toFixed(1)} s`;
  return `+${spellSpan(span)}`;
}

/** A countdown that a person can follow: "0:09", "12:30", "3 h 20 min". */
export function spellCountdown(leftMs: number): string {
  const left = Math.max(0, leftMs);
  if (left >= hourMs) return spellSpan(left);
  const seconds = Math.ceil(left / secondMs);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The time of day to the second, with the day where it is not today's. */
export function spellClock(at: string | number, nowMs: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0'));
  const clock = time.join(':');
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? clock : `${date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })} ${clock}`;
}

/** camelCase as words: `readingBody` is "reading body". */
export function spellWord(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
}

/** A state for people: the innermost name of each region, in words. `up.needsLogin` is "needs login". */
export function spellState(state: string): string {
  return state
    .split(' ')
    .map((part) => spellWord(part.slice(part.lastIndexOf('.') + 1)))
    .join(', ');
}

/** The interpreter's own events by what they mean: `xstate.done.actor.runScript` is "runScript done". */
export function spellEvent(type: string): string {
  return type.replace(/^xstate\.(done|error)\.actor\.(.+)$/, '$2 $1').replace(/^xstate\.after\.(\w+)\..*$/, '$1 over');
}

/** The last part of an actor's address, which names it among its siblings. */
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
