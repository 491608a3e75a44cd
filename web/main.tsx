// The console's entry: creates the parts that screens use, and shows the screen of the address, or the login.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { AdminSession } from "../src/admin/schemas.ts";
import { HintLayer } from "./components/hint.tsx";
import { Notices } from "./components/notices.tsx";
import { Shell } from "./components/shell.tsx";
import { Loading } from "./components/states.tsx";
import { Api } from "./lib/api.ts";
import { type App, AppContext, type Notice, type SessionState, useApp } from "./lib/app.ts";
import { History } from "./lib/history.ts";
import { type Live, LiveStream } from "./lib/live.ts";
import { browser } from "./lib/platform.ts";
import { useRoute } from "./lib/route.ts";
import { Store, useStore } from "./lib/store.ts";
import { Bill } from "./screens/bill.tsx";
import { Calls } from "./screens/calls.tsx";
import { Configuration } from "./screens/configuration.tsx";
import { Keys } from "./screens/keys.tsx";
import { Login, LoginAgain } from "./screens/login.tsx";
import { Nodes } from "./screens/nodes.tsx";
import { Overview } from "./screens/overview.tsx";
import { figuresOf } from "./screens/overview-figures.ts";
import { Try } from "./screens/try.tsx";

/** The screens in the order of the navigation; the first one is shown where the address names none. */
const SCREENS = [
  { screen: "overview", title: "Overview", Shown: Overview },
  { screen: "nodes", title: "Nodes", Shown: Nodes },
  { screen: "keys", title: "Keys", Shown: Keys },
  { screen: "bill", title: "Bill", Shown: Bill },
  { screen: "calls", title: "Calls", Shown: Calls },
  { screen: "try", title: "Try", Shown: Try },
  { screen: "configuration", title: "Configuration", Shown: Configuration },
] as const;

const NOTICE_MS = 6_000;
const MOST_NOTICES = 3;
/** The stream stays open in a tab that is hidden for less than this. */
const HIDDEN_MS = 10_000;

function createApp(): App & { readonly stream: LiveStream } {
  const platform = browser;
  const session = new Store<SessionState>(undefined);
  const notices = new Store<readonly Notice[]>([]);
  const history = new History();
  const api = new Api({
    platform,
    hasEnded: () => session.value?.ended !== undefined,
    onLoggedOut: () => endSession(session),
  });
  platform.hearTabs((what) => {
    if (what === "logged out") session.set({});
    else if (!session.value?.operator) void readSession(api, session);
  });
  const stream = new LiveStream({
    platform,
    open: (path) => new EventSource(path),
    onRefused: () => void readSession(api, session),
    onStatus: (status, atMs) => history.add(Math.floor(atMs / 1_000), figuresOf(status)),
    onHistory: ({ past }, atMs) => {
      for (const then of past)
        history.recall(Math.floor(atMs / 1_000) - then.ageSeconds, figuresOf(then));
    },
  });
  const notify: App["notify"] = (text, tone = "good") => {
    const notice = { text, tone };
    notices.set([...notices.value, notice].slice(-MOST_NOTICES));
    platform.after(NOTICE_MS, () => notices.set(notices.value.filter((each) => each !== notice)));
  };
  const live: Store<Live> = stream.store;
  return { platform, api, session, live, history, notices, notify, stream };
}

/** Asks the gateway for the session's operator; while the gateway does not answer, nothing changes. */
const readSession = (api: Api, session: Store<SessionState>): Promise<void> =>
  api.ask<AdminSession>("GET", "session").then(
    (who) => {
      const known = session.value?.operator;
      const isSame = known?.name === who.operator?.name && known?.role === who.operator?.role;
      if (!who.operator) endSession(session);
      else if (!isSame) session.set({ operator: who.operator });
    },
    () => undefined,
  );

/** The gateway does not know the session: it is older than twelve hours, or the gateway has restarted. */
function endSession(session: Store<SessionState>): void {
  const { operator, ended } = session.value ?? {};
  if (operator) session.set({ ended: operator });
  else if (!ended) session.set({});
}

/** Keeps the stream open while an operator is logged in and the page is visible. */
function useStream(stream: LiveStream, isLoggedIn: boolean): void {
  const { platform } = useApp();
  useEffect(() => {
    if (!isLoggedIn) return;
    let callOff = (): void => undefined;
    const look = (): void => {
      callOff();
      if (document.visibilityState === "visible") stream.open();
      else callOff = platform.after(HIDDEN_MS, () => stream.close());
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      callOff();
      stream.close();
    };
  }, [stream, isLoggedIn, platform]);
}

function Console({ stream }: { stream: LiveStream }) {
  const { api, session, platform } = useApp();
  const who = useStore(session);
  const { screen } = useRoute();
  useStream(stream, who?.operator !== undefined);
  useEffect(() => {
    if (who) return;
    void readSession(api, session);
    return platform.every(2_000, () => void readSession(api, session));
  }, [who, api, session, platform]);
  if (!who) return <Loading what="the console" />;
  const { operator = who.ended } = who;
  if (!operator) return <Login />;
  const { Shown, screen: current } = SCREENS.find((each) => each.screen === screen) ?? SCREENS[0];
  return (
    <>
      {who.ended && <LoginAgain />}
      {/* The key drops all filled-in fields when another operator logs in. */}
      <div key={`${operator.name} ${operator.role}`} hidden={who.ended !== undefined}>
        <Shell places={SCREENS} current={current}>
          <Shown />
        </Shell>
      </div>
    </>
  );
}

const { stream: liveStream, ...app } = createApp();
const root = document.querySelector("#console");
if (root)
  render(
    <AppContext.Provider value={app}>
      <Console stream={liveStream} />
      <Notices />
      <HintLayer />
    </AppContext.Provider>,
    root,
  );
