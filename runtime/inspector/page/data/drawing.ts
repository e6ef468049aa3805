/**
 * The drawings of the machines' charts. They are laid out when the page is built, one file per machine, and fetched when a
 * chart opens, so the page includes no layout engine.
 * @see INS-2 in docs/specification.md
 */

import { chartUrls } from 'virtual:charts';
import type { Drawing } from './drawn.ts';

const drawings = new Map<string, Promise<Drawing | undefined>>();

/** Resolves with the drawing of a machine's chart; undefined if it has none, as a pool. */
export function drawingOf(machine: string): Promise<Drawing | undefined> {
  const known = drawings.get(machine);
  if (known !== undefined) return known;
  const url = Object.hasOwn(chartUrls, machine) ? chartUrls[machine] : undefined;
  const made = url === undefined ? Promise.resolve(undefined) : load(url);
  drawings.set(machine, made);
  made.catch(() => drawings.delete(machine));
  return made;
}

/** Fetched without a session, like the page's script, since it is the same for every home. */
async function load(url: string): Promise<Drawing> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the chart could not be fetched: ${response.status}`);
  return (await response.json()) as Drawing;
}
