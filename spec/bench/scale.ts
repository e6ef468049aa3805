export async function measureScale(_quick: boolean, _full: boolean): Promise<void> {}
