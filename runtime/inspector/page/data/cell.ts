/** A value that notifies its readers when it changes: the page's state, in a few lines. */

import { useEffect, useState } from 'preact/hooks';

export interface Cell<Value> {
  get(): Value;
  set(value: Value): void;
  /** Calls back after every change until the returned function is called. */
  onChange(listener: () => void): () => void;
}

export function createCell<Value>(first: Value): Cell<Value> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The cell's value; the component is drawn again when it changes. */
export function useCell<Value>(cell: Cell<Value>): Value {
  const [, redraw] = useState(0);
  const value = cell.get();
  useEffect(() => {
    const report = (): void => redraw((times) => times + 1);
    // It may have changed between drawing and this effect.
    if (!Object.is(cell.get(), value)) report();
    return cell.onChange(report);
  }, [cell]);
  return value;
}
