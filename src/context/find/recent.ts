/**
 * `make`, remembering its last `size` different results: the one unused for longest is dropped
 * first. What `make` throws is not remembered.
 */
export function recent<Value>(
  size: number,
  make: (key: string) => Value,
  drop: (value: Value) => void = () => {},
): (key: string) => Value {
  const values = new Map<string, Value>();
  return (key) => {
    const value = values.get(key) ?? make(key);
    values.delete(key);
    values.set(key, value);
    for (const [oldest, old] of values) {
      if (values.size <= size) break;
      values.delete(oldest);
      drop(old);
    }
    return value;
  };
}
