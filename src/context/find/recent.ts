/**
 * `make`, remembering its last `size` different results: the one unused for longest is dropped
 * first. What `make` throws is not remembered.
 */
export function recent<Value>(
  size: number,
  make: (key: string) => Value,
  drop: (value: Value) => void = () => {},
): (key: string) => Value {
  const kept = new Map<string, Value>();
  return (key) => {
    const value = kept.get(key) ?? make(key);
    kept.delete(key);
    kept.set(key, value);
    for (const [oldest, old] of kept) {
      if (kept.size <= size) break;
      kept.delete(oldest);
      drop(old);
    }
    return value;
  };
}
