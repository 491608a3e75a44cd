// The list of all keys, and the details of one: its permissions, its usage, and the actions on it.
import { useState } from "preact/hooks";
import type { BillAnswer, KeyAnswer, MadeKeyAnswer } from "../../src/admin/schemas.ts";
import { Field } from "../components/field.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useApp, useMay, useResource } from "../lib/app.ts";
import { timeText, wholeText } from "../lib/format.ts";
import { hrefOf, useRoute } from "../lib/route.ts";
import { KeyForm, NewText } from "./key-acts.tsx";
import { KeyDetails, KeyStatus } from "./key-details.tsx";

export function Keys() {
  const { query } = useRoute();
  const keys = useResource<{ readonly keys: readonly KeyAnswer[] }>("keys");
  const [made, show] = useState<MadeKeyAnswer>();
  const chosen = query.get("key");
  const onMade = (key: MadeKeyAnswer): void => {
    show(key);
    keys.reload();
    location.hash = hrefOf("keys", { key: key.name });
  };
  return (
    <>
      {query.has("new") ? (
        <Making onMade={onMade} />
      ) : chosen === null ? (
        <AllKeys keys={keys} />
      ) : (
        <KeyDetails key={chosen} name={chosen} onMade={onMade} onChanged={keys.reload} />
      )}
      {made && <NewText made={made} onClose={() => show(undefined)} />}
    </>
  );
}

const Making = ({ onMade }: { onMade: (key: MadeKeyAnswer) => void }) => (
  <Screen
    title="New key"
    about="A setting that is left out has its default; most defaults set no limit."
  >
    <section class="card" aria-label="The key">
      <KeyForm
        act="Make the key"
        onDone={(made) => onMade(made as MadeKeyAnswer)}
        onClose={() => {
          location.hash = hrefOf("keys");
        }}
      />
    </section>
  </Screen>
);

type AllKeysProps = {
  readonly keys: ReturnType<typeof useResource<{ readonly keys: readonly KeyAnswer[] }>>;
};

/** The longest list; the search field finds the other keys. */
const MOST_LISTED = 200;

function AllKeys({ keys }: AllKeysProps) {
  const mayChange = useMay("keys");
  const [part, find] = useState("");
  const { query } = useRoute();
  const wanted = query.get("status");
  return (
    <Screen
      title="Keys"
      about="All keys, with their restrictions and their usage this month."
      acts={
        mayChange && (
          <a class="button primary" href={hrefOf("keys", { new: "1" })}>
            New key
          </a>
        )
      }
    >
      <search class="filters">
        <Field label="Name" type="search" value={part} onInput={find} placeholder="all" />
      </search>
      <Loaded resource={keys} what="keys">
        {({ keys: all }) => {
          const found = all.filter(
            ({ name, status }) => name.includes(part) && (!wanted || status === wanted),
          );
          if (all.length === 0)
            return <Empty title="There are no keys">Callers need a key: make the first one.</Empty>;
          if (found.length === 0) return <Empty title="No key matches" />;
          return (
            <section class="card" aria-label="Keys">
              <KeyTable keys={found.slice(0, MOST_LISTED)} />
              {found.length > MOST_LISTED && (
                <p class="note">
                  Not shown: {wholeText(found.length - MOST_LISTED)} more. Type a part of a name to
                  find a key.
                </p>
              )}
            </section>
          );
        }}
      </Loaded>
    </Screen>
  );
}

function KeyTable({ keys }: { keys: readonly KeyAnswer[] }) {
  const bill = useResource<BillAnswer>("usage?rows=none");
  const { platform } = useApp();
  const sums = bill.value?.keys ?? {};
  const sumOf = ({ name }: KeyAnswer) => (Object.hasOwn(sums, name) ? sums[name] : undefined);
  const columns: readonly Column<KeyAnswer>[] = [
    {
      title: "Key",
      cell: ({ name }) => <a href={hrefOf("keys", { key: name })}>{name}</a>,
    },
    { title: "Status", cell: (key) => <KeyStatus of={key} /> },
    {
      title: "Made",
      hint: "The time when the key was made, or that the key is in the configuration file.",
      cell: ({ source, createdAt }) =>
        source === "file" ? "in the file" : createdAt ? timeText(createdAt, platform.now()) : "–",
    },
    {
      title: "Bound to",
      hint: "The settings that restrict the key.",
      cell: ({ settings }) => boundTo(settings).join(", ") || "nothing",
    },
    {
      title: "Calls",
      hint: "Calls that were answered and charged this month (UTC).",
      cell: (key) => wholeText(sumOf(key)?.calls ?? 0),
      isNumber: true,
    },
    {
      title: "Units",
      hint: "The compute units that the key was charged this month (UTC).",
      cell: (key) => wholeText(sumOf(key)?.computeUnits ?? 0),
      isNumber: true,
    },
    {
      title: "Refused",
      hint: "Calls that the key's scope or limits refused this month (UTC).",
      cell: (key) => wholeText(sumOf(key)?.refused ?? 0),
      isNumber: true,
    },
  ];
  return <Table caption="Keys" columns={columns} rows={keys} keyOf={({ name }) => name} />;
}

/** The names of the settings that restrict the key. */
const boundTo = (settings: KeyAnswer["settings"]): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) =>
    value === false || (typeof value === "object" && !JSON.stringify(value).match(/[^{}:",a-z]/i))
      ? []
      : [name],
  );
