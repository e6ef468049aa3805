interface Table<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Returns the value of a key; one that is missing is made and kept. */
export function getOrMake<Key, Value>(table: Table<Key, Value>, key: Key, make: () => NoInfer<Value>): Value {
  const known = table.get(key);
  if (known !== undefined) return known;
  const made = make();
  table.set(key, made);
  return made;
}
