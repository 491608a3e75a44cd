// An observable value: screens that use it are rendered again when it changes.
import { useEffect, useState } from "preact/hooks";

export class Store<Value> {
  #value: Value;
  readonly #watchers = new Set<() => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** @returns A function that removes the watcher. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useStore<Value>(store: Store<Value>): Value {
  const [value, show] = useState(store.value);
  useEffect(() => {
    show(() => store.value);
    return store.watch(() => show(() => store.value));
  }, [store]);
  return value;
}
