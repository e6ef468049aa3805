/** Texts that the browser keeps for the next visit. It may allow no storage: then they last as long as the page. */

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param text an empty one is removed */
export function store(name: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // What it was is lost with the page.
  }
}
