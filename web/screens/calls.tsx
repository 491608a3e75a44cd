// Slow and failed calls as they happen, each with its story.
import { useEffect, useState } from "preact/hooks";
import type { CallAnswer } from "../../src/admin/schemas.ts";
import { Field, Select } from "../components/field.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded } from "../components/states.tsx";
import { Outcome, Story, sourceText } from "../components/story.tsx";
import { useApp, useLive, useResource } from "../lib/app.ts";
import { countText, msText, timeText } from "../lib/format.ts";
import { hrefOf, useRoute } from "../lib/route.ts";
import { callName, isShown, joined } from "./slow-calls.ts";

const OUTCOMES = ["", "failed", "unavailable", "refused", "ok"].map((value) => ({
  value,
  text: value || "all",
}));

export function Calls() {
  const { status, state } = useLive();
  const { query } = useRoute();
  const past = useResource<{ readonly calls: readonly CallAnswer[] }>("calls?limit=200");
  const [calls, show] = useState<readonly CallAnswer[]>([]);
  const [isPaused, pause] = useState(false);
  useEffect(() => {
    if (past.value) show((shown) => joined(shown, past.value?.calls ?? []));
  }, [past.value]);
  useEffect(() => {
    if (status && !isPaused) show((shown) => joined(shown, status.calls));
  }, [status, isPaused]);
  // At the end of a gap the page requests the calls that it missed.
  const isGap = isPaused || state === "stale";
  useEffect(() => (isGap ? past.reload : undefined), [isGap, past.reload]);
  const wanted = calls.filter((call) => isShown(call, query));
  return (
    <Screen
      title="Calls"
      about="Slow and failed calls as they happen. Open a call to see its steps."
      acts={
        <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </button>
      }
    >
      <Filters />
      <Loaded resource={past} what="calls">
        {() =>
          wanted.length === 0 ? (
            <Empty
              title={calls.length === 0 ? "No slow or failed calls" : "No call matches the filters"}
            >
              {calls.length === 0 &&
                "The gateway keeps such calls while tail.calls of the configuration is above 0; tail.slow is the time from which a call counts as slow."}
            </Empty>
          ) : (
            <section class="card" aria-label="Calls, the newest first">
              <p class="calls-head" aria-hidden="true">
                {["Time", "Network", "Key", "Method", "Outcome"].map((title) => (
                  <span key={title}>{title}</span>
                ))}
                <span class="end">Took</span>
                <span class="end">Source</span>
              </p>
              <ul class="calls">
                {wanted.map((call) => (
                  <CallItem key={callName(call)} call={call} />
                ))}
              </ul>
            </section>
          )
        }
      </Loaded>
    </Screen>
  );
}

function CallItem({ call }: { call: CallAnswer }) {
  const { platform } = useApp();
  const [isOpen, open] = useState(false);
  const { at, network, key, method, ms, asked, request, trace, id } = call;
  return (
    <li>
      <details class="call" onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary>
          <time dateTime={at}>{timeText(at, platform.now())}</time>
          <span>{network}</span>
          <span>{key}</span>
          <code>{method}</code>
          <span>
            <Outcome {...call} />
          </span>
          <span class="end">{msText(ms)}</span>
          <span class="quiet end">
            {asked.length === 0 ? sourceText(call) : countText(asked.length, "node")}
          </span>
        </summary>
        {isOpen && (
          <>
            <Story call={call} />
            <p class="note">
              Request <code>{request}</code>, id <code>{id}</code>
              {trace && (
                <>
                  , trace <code>{trace}</code>
                </>
              )}
            </p>
          </>
        )}
      </details>
    </li>
  );
}

function Filters() {
  const { status } = useLive();
  const { query } = useRoute();
  const given = Object.fromEntries(query);
  const set = (name: string) => (value: string) => {
    location.hash = hrefOf("calls", { ...given, [name]: value });
  };
  const networks = status?.networks.map(({ network }) => network) ?? [];
  return (
    <search class="filters">
      <Select
        label="Network"
        value={query.get("network") ?? ""}
        onChange={set("network")}
        options={["", ...networks].map((value) => ({ value, text: value || "all" }))}
      />
      <Select
        label="Outcome"
        value={query.get("outcome") ?? ""}
        onChange={set("outcome")}
        options={OUTCOMES}
      />
      <Field label="Key" type="search" value={query.get("key") ?? ""} onInput={set("key")} />
      <Field
        label="Method"
        type="search"
        value={query.get("method") ?? ""}
        onInput={set("method")}
      />
      <Field
        label="Slower than (ms)"
        type="number"
        value={query.get("ms") ?? ""}
        onInput={set("ms")}
      />
    </search>
  );
}
