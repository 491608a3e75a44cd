// An abort signal for tests that counts its listeners.

export function countedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  const listening = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listening.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listening.delete(args[1]);
    remove(...args);
  };
  return { controller, signal, listeners: (): number => listening.size };
}
