// Usage by key, network, method and day, and the calls that were answered without a node.
import { useState } from "preact/hooks";
import type { BillAnswer } from "../../src/admin/schemas.ts";
import { Field, Select } from "../components/field.tsx";
import { Figures } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded } from "../components/states.tsx";
import { Table } from "../components/table.tsx";
import { useApp, useLive, useRefresh, useResource } from "../lib/app.ts";
import { bytesText, dayOf, monthBefore, shareText, wholeText } from "../lib/format.ts";
import { hrefOf, useRoute } from "../lib/route.ts";
import { type BillSum, costText, savedCalls, sumColumns, topOf } from "./bill-figures.ts";
import { DayBars } from "./usage-bars.tsx";

const MOST_ROWS = 20;

export function Bill() {
  const { platform } = useApp();
  const { query } = useRoute();
  const today = dayOf(platform.now());
  const asked = {
    from: query.get("from") ?? monthBefore(today),
    to: query.get("to") ?? today,
    network: query.get("network") ?? undefined,
    key: query.get("key") ?? undefined,
  };
  const path = `usage?${hrefOf("", { ...asked, rows: "none" }).split("?")[1]}`;
  const bill = useResource<BillAnswer>(path);
  useRefresh(bill);
  return (
    <Screen
      title="Bill"
      about="Usage by UTC day, key, network and method."
      acts={
        <a class="button" href={path.replace("rows=none", "format=csv")} download="bill.csv">
          CSV
        </a>
      }
    >
      <Filters {...asked} />
      <Loaded resource={bill} what="the bill">
        {(told) =>
          told.total.calls + told.total.refused === 0 ? (
            <Empty title="No usage">
              There were no calls on these days for this network and key.
            </Empty>
          ) : (
            <Told bill={told} />
          )
        }
      </Loaded>
    </Screen>
  );
}

type Asked = Readonly<Record<"from" | "to", string>> &
  Readonly<Record<"network" | "key", string | undefined>>;

function Filters(asked: Asked) {
  const { status } = useLive();
  const [given, give] = useState(asked);
  const go = (next: Asked): void => {
    give(next);
    location.hash = hrefOf("bill", next);
  };
  const networks = status?.networks.map(({ network }) => network) ?? [];
  const options = ["", ...networks].map((value) => ({ value, text: value || "all" }));
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        go(given);
      }}
    >
      <Field
        label="From"
        type="date"
        value={given.from}
        onInput={(from) => go({ ...given, from })}
      />
      <Field label="To" type="date" value={given.to} onInput={(to) => go({ ...given, to })} />
      <Select
        label="Network"
        value={given.network ?? ""}
        options={options}
        onChange={(network) => go({ ...given, network })}
      />
      <Field
        label="Key"
        type="search"
        value={given.key ?? ""}
        placeholder="all"
        onInput={(key) => give({ ...given, key })}
      />
      <button type="submit">Show</button>
    </form>
  );
}

function Told({ bill }: { bill: BillAnswer }) {
  const { total, currency } = bill;
  const all = total.calls;
  return (
    <>
      <section class="card" aria-label="Total">
        <Figures
          isWide
          figures={[
            {
              label: "Calls",
              hint: "Calls that were answered with a result or an error, and charged.",
              value: wholeText(all),
            },
            {
              label: "Compute units",
              hint: "The compute units that calls were charged, refused calls included.",
              value: wholeText(total.computeUnits),
            },
            {
              label: "Cost",
              hint: "The cost of these calls at a provider, by the configured prices.",
              value: costText(total.cost, currency),
            },
            {
              label: "Saved",
              hint: "The cost of the calls for which no node was asked, by the configured prices.",
              value: costText(total.savedCost, currency),
              tone: "good",
            },
            {
              label: "Saved calls",
              hint: "Calls for which no node was asked: answered from the store, by an equal call, or by the gateway.",
              value: `${wholeText(savedCalls(total))} (${shareText(savedCalls(total), all)})`,
            },
            {
              label: "Saved units",
              hint: "The compute units of the calls for which no node was asked.",
              value: wholeText(total.savedComputeUnits),
            },
            {
              label: "Calls to nodes",
              hint: "The number of calls that the gateway made to nodes for these calls.",
              value: wholeText(total.upstreamCalls),
            },
            {
              label: "Errors",
              hint: "Calls that were answered with an error.",
              value: wholeText(total.errors),
            },
            {
              label: "Refused",
              hint: "Calls that the scope or limits of their key refused.",
              value: wholeText(total.refused),
              tone: total.refused > 0 ? "warn" : "plain",
            },
            {
              label: "Answers",
              hint: "The total size of all answers, before compression.",
              value: bytesText(total.bytes),
            },
          ]}
        />
        {currency === undefined && (
          <p class="note">
            No costs are shown: the configuration has no <code>prices</code>.
          </p>
        )}
        <div class="charts">
          <DayBars bill={bill} />
        </div>
      </section>
      <Sums
        title="Key"
        sums={bill.keys}
        currency={currency}
        linkOf={(key) => hrefOf("keys", { key })}
      />
      <Sums title="Network" sums={bill.networks} currency={currency} />
      <Sums title="Method" sums={bill.methods} currency={currency} />
    </>
  );
}

type SumsProps = {
  readonly title: string;
  readonly sums: Readonly<Record<string, BillSum>>;
  readonly currency: string | undefined;
  readonly linkOf?: (name: string) => string;
};

/** A table of the sums with the most compute units. */
function Sums({ title, sums, currency, linkOf }: SumsProps) {
  const { rows, leftOut } = topOf(sums, MOST_ROWS);
  return (
    <section class="card" aria-label={`By ${title.toLowerCase()}`}>
      <header>
        <h2>By {title.toLowerCase()}</h2>
      </header>
      <Table
        caption={`Usage by ${title.toLowerCase()}`}
        columns={[
          {
            title,
            cell: ({ name }) => (linkOf ? <a href={linkOf(name)}>{name}</a> : <b>{name}</b>),
          },
          ...sumColumns(currency),
        ]}
        rows={rows}
        keyOf={({ name }) => name}
      />
      {leftOut > 0 && <p class="note">Not shown: {wholeText(leftOut)} more, with less usage.</p>}
    </section>
  );
}
