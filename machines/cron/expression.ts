/**
 * Parses when a cron job is due: five fields, `@daily` and the like, or an interval such as `every 15m`. Reports what is
 * wrong with other texts and with dates that never occur. Does not compute times: the port `NextDue` has zones and days.
 * @see CRN-1 in docs/specification.md
 */

import { cut } from '../base/json.ts';

export type Schedule =
  /** Five fields as numbers: minute, hour, day of the month, month, day of the week. */
  { readonly kind: 'fields'; readonly expression: string } | { readonly kind: 'interval'; readonly everyMs: number };

type ScheduleReading =
  | { readonly kind: 'read'; readonly schedule: Schedule }
  | { readonly kind: 'invalid'; readonly problem: string };

interface Field {
  readonly name: string;
  readonly lowest: number;
  readonly highest: number;
  /** The last value of `*` and of steps; Sunday is 0, and 7 only as the end of a range. */
  readonly last: number;
  /** Names for `lowest` and the following values. */
  readonly words: readonly string[];
}

type FieldReading = { readonly values: readonly number[]; readonly star: boolean } | { readonly problem: string };

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const fields: readonly Field[] = [
  { name: 'minute', lowest: 0, highest: 59, last: 59, words: [] },
  { name: 'hour', lowest: 0, highest: 23, last: 23, words: [] },
  { name: 'day of the month', lowest: 1, highest: 31, last: 31, words: [] },
  { name: 'month', lowest: 1, highest: 12, last: 12, words: months },
  { name: 'day of the week', lowest: 0, highest: 7, last: 6, words: days },
];

const nicknames: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

/** How much of an object is shown. */
const maxShownLength = 60;
/** Including leap years. */
const maxDaysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const minuteMs = 60_000;
const unitsMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: minuteMs };
const maxIntervalMs = 366 * 86_400_000;

export function readSchedule(text: string): ScheduleReading {
  const written = text.trim();
  if (written === '') return invalid('the schedule is empty');
  if (/^[{[]/.test(written)) {
    return invalid(
      `the schedule ${cut(written, maxShownLength)} is no text; write five fields such as "0 9 * * *", or "every 15m"`,
    );
  }
  if (/^every\b/i.test(written)) return readInterval(written);
  if (/^(?:CRON_)?TZ=/i.test(written)) return invalid(`"${written}" begins with a zone; give the zone as \`timezone\``);
  if (/^@every\s/i.test(written)) return invalid(`"${written}" is not known; write "${written.slice(1)}"`);
  if (written.startsWith('@')) {
    const expression = nicknames.get(written.toLowerCase());
    return expression === undefined
      ? invalid(`"${written}" is not known; known are ${[...nicknames.keys()].join(', ')}`)
      : { kind: 'read', schedule: { kind: 'fields', expression } };
  }
  return readFields(written);
}

/** The first time of an interval after a moment: a multiple of the interval from the anchor, never the anchor itself. */
export function nextOfInterval(everyMs: number, anchorMs: number, afterMs: number): number {
  return anchorMs + Math.max(1, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs;
}

function readInterval(written: string): ScheduleReading {
  if (/^every\s+[\d\s]*s(?:ec(?:ond)?s?)?$/i.test(written)) {
    return invalid(`"${written}" counts seconds; the shortest interval is a minute: write "every 1m"`);
  }
  const parts = /^every\s+((?:\d+\s*[dhm]\s*)+)$/i.exec(written)?.[1];
  if (parts === undefined) {
    return invalid(
      `"${written}" is no interval; write "every 15m", "every 2h", "every 1h30m" or "every 1d", or five fields for days and times: "0 9 * * 1-5" is weekdays at 9`,
    );
  }
  let everyMs = 0;
  for (const [, count, unit = ''] of parts.matchAll(/(\d+)\s*([dhm])/gi)) {
    everyMs += Number(count) * (unitsMs[unit.toLowerCase()] ?? 0);
  }
  if (everyMs < minuteMs) return invalid(`"${written}" never passes any time; the shortest interval is 1m`);
  if (everyMs > maxIntervalMs) return invalid(`"${written}" is longer than 366 days, the longest interval`);
  return { kind: 'read', schedule: { kind: 'interval', everyMs } };
}

function readFields(written: string): ScheduleReading {
  const texts = written.split(/\s+/);
  if (texts.length !== fields.length) {
    const seconds = texts.length === 6 ? '; there is no field for seconds' : '';
    return invalid(
      `"${written}" has ${texts.length} fields, not 5 (minute, hour, day of the month, month, day of the week)${seconds}`,
    );
  }
  const readings: { readonly values: readonly number[]; readonly star: boolean }[] = [];
  for (const [index, field] of fields.entries()) {
    const reading = readField(texts[index] ?? '', field);
    if ('problem' in reading) return invalid(`${field.name} "${texts[index]}": ${reading.problem}`);
    readings.push(reading);
  }
  const [, , day, month, weekday] = readings;
  if (day !== undefined && month !== undefined && weekday?.star === true && !day.star) {
    const earliest = Math.min(...day.values);
    if (!month.values.some((one) => (maxDaysOfMonths[one - 1] ?? 0) >= earliest)) {
      return invalid(`"${written}" never falls: no chosen month has a day ${earliest}`);
    }
  }
  // Minutes and hours stay as written: on days with a clock change, a step is not the same as its list.
  const normalized = readings.map(({ values, star }, index) => {
    if (star) return '*';
    return index < 2 ? (texts[index] ?? '*') : values.join(',');
  });
  return { kind: 'read', schedule: { kind: 'fields', expression: normalized.join(' ') } };
}

function readField(text: string, field: Field): FieldReading {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const read = readPart(part, field);
    if ('problem' in read) return read;
    for (let value = read.from; value <= read.to; value += read.step) {
      values.add(value > field.last ? field.lowest : value);
    }
  }
  return { values: [...values].sort((one, other) => one - other), star: text.split(',').includes('*') };
}

function readPart(
  part: string,
  field: Field,
): { readonly from: number; readonly to: number; readonly step: number } | { readonly problem: string } {
  const matched = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part);
  if (matched === null) {
    return { problem: part === '' ? 'a part between commas is empty' : `"${part}" is no number, range, step or *` };
  }
  const [, first = '', last, stepText] = matched;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step === 0) return { problem: 'a step of 0 gets nowhere' };
  if (step > field.highest) return { problem: `a step of ${step} is above ${field.highest}` };
  if (first === '*') {
    if (last !== undefined) return { problem: '* cannot begin a range' };
    return { from: field.lowest, to: field.last, step };
  }
  const from = numberOf(first, field);
  const to = last === undefined ? from : numberOf(last, field, true);
  if (typeof from === 'string') return { problem: from };
  if (typeof to === 'string') return { problem: to };
  if (stepText !== undefined && last === undefined) {
    return { problem: `a step needs a range; write ${first}-${field.last}/${step} or */${step}` };
  }
  if (from > to) {
    // Sunday as 7 only ends a range; one that begins with it begins with 0.
    const upper = from > field.last ? '' : `${first}-${field.last},`;
    return { problem: `the range runs backwards; write ${upper}${field.lowest}-${last}` };
  }
  return { from, to, step };
}

/** A number within its bounds, or what is wrong with it. As the end of a range, Sunday is 7. */
function numberOf(text: string, { lowest, highest, words }: Field, ends = false): number | string {
  const word = words.indexOf(text.toLowerCase());
  if (word >= 0) return ends && words === days && word === 0 ? 7 : lowest + word;
  if (!/^\d+$/.test(text)) return `"${text}" is not known`;
  const value = Number(text);
  if (value < lowest) return `${value} is below ${lowest}`;
  return value > highest ? `${value} is above ${highest}` : value;
}

function invalid(problem: string): ScheduleReading {
  return { kind: 'invalid', problem };
}
