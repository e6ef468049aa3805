/**
 * Takes a double click on a button for one click. By the second, the first may have been answered, and the button works
 * again: a job would be fired, a tool called or an event replayed twice.
 * @see INS-2 in docs/specification.md
 */

/** Listens until the returned function is called. */
export function ignoreDoubleClicks(): () => void {
  const onClick = (event: MouseEvent): void => {
    // A click by a key has no number.
    if (event.detail < 2 || !(event.target instanceof Element) || event.target.closest('button.btn') === null) return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener('click', onClick, { capture: true });
  return () => removeEventListener('click', onClick, { capture: true });
}
