// The browser's services: time, timers, requests, storage, messages to other tabs. Other files get them as a part.

export type Platform = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** @returns A function that stops the timer. */
  readonly every: (ms: number, act: () => void) => () => void;
  /** @returns A function that cancels the timer. */
  readonly after: (ms: number, act: () => void) => () => void;
  readonly fetch: typeof globalThis.fetch;
  readonly recall: (name: string) => string | undefined;
  readonly remember: (name: string, value: string) => void;
  readonly tellTabs: (what: TabNews) => void;
  readonly hearTabs: (hear: (what: TabNews) => void) => void;
};

type TabNews = "logged in" | "logged out";

const tabs = new BroadcastChannel("headgate");

export const browser: Platform = {
  now: () => Date.now(),
  every: (ms, act) => {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  },
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
  fetch: (...request) => fetch(...request),
  // A browser may forbid to read local storage, and to write it.
  recall: (name) => {
    try {
      return localStorage.getItem(`headgate.${name}`) ?? undefined;
    } catch {
      return undefined;
    }
  },
  remember: (name, value) => {
    try {
      localStorage.setItem(`headgate.${name}`, value);
    } catch {}
  },
  tellTabs: (what) => tabs.postMessage(what),
  hearTabs: (hear) => tabs.addEventListener("message", ({ data }) => hear(data as TabNews)),
};
