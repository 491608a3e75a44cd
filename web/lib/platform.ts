// What the browser is asked for: time, timers, the gateway, and what is remembered. The rest of the console is given it.

export type Platform = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** @returns Ends it. */
  readonly every: (ms: number, act: () => void) => () => void;
  /** @returns Calls it off. */
  readonly after: (ms: number, act: () => void) => () => void;
  readonly fetch: typeof globalThis.fetch;
  readonly recall: (name: string) => string | undefined;
  readonly remember: (name: string, value: string) => void;
  /** Tells the other tabs that show this console. */
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
  // A browser may forbid both.
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
