// The frame of every screen: navigation, freshness of the figures, the operator who is logged in, light or dark theme.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useApp, useLive } from "../lib/app.ts";
import { timeText } from "../lib/format.ts";
import { hrefOf } from "../lib/route.ts";
import { useStore } from "../lib/store.ts";
import { Stale } from "./states.tsx";

type Place = { readonly screen: string; readonly title: string };

type ShellProps = {
  readonly places: readonly Place[];
  readonly current: string;
  readonly children: ComponentChildren;
};

export const Shell = ({ places, current, children }: ShellProps) => (
  <div class="shell">
    <button
      type="button"
      class="skip"
      // The address behind # names a screen, so that this cannot be a link.
      onClick={() => document.querySelector<HTMLElement>("#screen h1")?.focus()}
    >
      Skip to the main content
    </button>
    <header class="bar">
      <a class="brand" href={hrefOf("overview")}>
        <span class="mark" aria-hidden="true" />
        Headgate
      </a>
      <nav aria-label="Screens">
        {places.map(({ screen, title }) => (
          <a
            key={screen}
            href={hrefOf(screen)}
            aria-current={screen === current ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div class="bar-end">
        <Freshness />
        <ThemeSelect />
        <LoggedIn />
      </div>
    </header>
    <div class="content">
      <StaleNotice />
      {children}
    </div>
  </div>
);

const WORDS = { connecting: "Connecting", live: "Live", stale: "Stale" } as const;

function Freshness() {
  const { platform } = useApp();
  const { state, status } = useLive();
  return (
    <span class={`freshness ${state}`} role="status" aria-label={WORDS[state]}>
      <span class="dot" aria-hidden="true" />
      {WORDS[state]}
      {status && <time dateTime={status.at}>{timeText(status.at, platform.now())}</time>}
    </span>
  );
}

/** While the event stream is stale, tells each second how old the figures are. */
function StaleNotice() {
  const { platform } = useApp();
  const { state, atMs } = useLive();
  const [now, setNow] = useState(platform.now());
  useEffect(() => platform.every(1_000, () => setNow(platform.now())), [platform]);
  if (state !== "stale") return null;
  return <Stale seconds={atMs === undefined ? undefined : Math.abs(now - atMs) / 1_000} />;
}

const THEMES = [
  { value: "auto", text: "Auto" },
  { value: "light", text: "Light" },
  { value: "dark", text: "Dark" },
];

function ThemeSelect() {
  const { platform } = useApp();
  const [theme, setTheme] = useState(platform.recall("theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    platform.remember("theme", theme);
    dispatchEvent(new Event("themechange")); // canvases are not styled, but painted
  }, [theme, platform]);
  return (
    <select
      class="quiet"
      aria-label="Theme"
      value={theme}
      onChange={({ currentTarget }) => setTheme(currentTarget.value)}
    >
      {THEMES.map(({ value, text }) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

function LoggedIn() {
  const { api, session, notify, platform } = useApp();
  const operator = useStore(session)?.operator;
  if (!operator) return null;
  const logOut = (): void => {
    api.ask("POST", "session/end").then(
      () => {
        session.set({});
        platform.tellTabs("logged out");
      },
      () => notify("The session could not be ended", "bad"),
    );
  };
  return (
    <span class="operator">
      <span>
        {operator.name} <span class="role">{operator.role}</span>
      </span>
      {operator.name !== "this machine" && (
        <button type="button" class="quiet" onClick={logOut}>
          Log out
        </button>
      )}
    </span>
  );
}
