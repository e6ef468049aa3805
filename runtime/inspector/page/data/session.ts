/**
 * The page's key to its session: handed over once, in the document that a link opens, and kept by the browser for this
 * origin, port and all. A cookie would go to every port of this machine; what lies here goes nowhere unless it is sent.
 * @see INS-2 in docs/specification.md
 */

/** The header's name, and that of the element that brings the key, as `door.ts` has it. */
const keyName = 'x-agent-inspector-key';

/** Where the browser keeps nothing, the key lasts as long as the page. */
let held = '';

/** Takes the key out of the document, and the used link out of the address. */
export function takeKey(): void {
  const brought = document.querySelector<HTMLMetaElement>(`meta[name="${keyName}"]`);
  if (brought === null) return;
  held = brought.content;
  brought.remove();
  try {
    localStorage.setItem(keyName, held);
  } catch {
    // The person has forbidden it; a reload asks for a fresh link.
  }
  history.replaceState(null, '', `./${location.hash}`);
}

/** What every request for data bears. Read anew each time: a link may have been opened in another tab since. */
export function keyHeaders(): Readonly<Record<string, string>> {
  try {
    return { [keyName]: localStorage.getItem(keyName) ?? held };
  } catch {
    return { [keyName]: held };
  }
}
