// One key: its settings, its usage by hour, day and method, the reasons of its refused calls, and the actions on it.
import { useState } from "preact/hooks";
import type {
  BillAnswer,
  KeyAnswer,
  MadeKeyAnswer,
  UsageHoursAnswer,
} from "../../src/admin/schemas.ts";
import { Badge, Figures, type Tone } from "../components/figure.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded } from "../components/states.tsx";
import { Table } from "../components/table.tsx";
import { useApp, useMay, useRefresh, useResource } from "../lib/app.ts";
import { bytesText, dayOf, monthBefore, shareText, timeText, wholeText } from "../lib/format.ts";
import { hrefOf } from "../lib/route.ts";
import { costText, REFUSALS, savedCalls, sumColumns, topOf } from "./bill-figures.ts";
import { type KeyAct, KeyDialog, KeyForm } from "./key-acts.tsx";
import { DayBars, HourBars } from "./usage-bars.tsx";

type DetailsProps = {
  readonly name: string;
  readonly onMade: (key: MadeKeyAnswer) => void;
  readonly onChanged: () => void;
};

export function KeyDetails({ name, onMade, onChanged }: DetailsProps) {
  const mayChange = useMay("keys");
  const key = useResource<KeyAnswer>(`keys/${encodeURIComponent(name)}`);
  const [act, setAct] = useState<KeyAct | "change">();
  const done = (): void => {
    key.reload();
    onChanged();
  };
  const close = (): void => setAct(undefined);
  const { value } = key;
  return (
    <Screen
      title={name}
      about="The key's permissions, limits and usage."
      acts={mayChange && value && <Acts of={value} onAct={setAct} />}
    >
      <p class="back">
        <a href={hrefOf("keys")}>← All keys</a>
      </p>
      <Loaded resource={key} what="the key">
        {(told) => (
          <>
            {act === "change" ? (
              <section class="card" aria-label="Its settings">
                <KeyForm
                  act="Change the key"
                  of={told}
                  onDone={() => {
                    close();
                    done();
                  }}
                  onClose={close}
                />
              </section>
            ) : (
              <Settings of={told} />
            )}
            <Use name={name} />
            {act && act !== "change" && (
              <KeyDialog act={act} name={name} {...{ onMade }} onDone={done} onClose={close} />
            )}
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function Acts({
  of: { name, source, status },
  onAct,
}: {
  readonly of: KeyAnswer;
  readonly onAct: (act: KeyAct | "change") => void;
}) {
  const tried = status === "active" && (
    <a class="button" href={hrefOf("try", { key: name })}>
      Try
    </a>
  );
  if (source === "file" || status === "revoked") return <>{tried}</>;
  const acts: readonly { readonly act: KeyAct | "change"; readonly text: string }[] = [
    { act: "change", text: "Change" },
    { act: "rotate", text: "New text …" },
    status === "disabled"
      ? { act: "enable", text: "Enable …" }
      : { act: "disable", text: "Disable …" },
    { act: "revoke", text: "Revoke …" },
  ];
  return (
    <>
      {tried}
      {acts.map(({ act, text }) => (
        <button
          key={act}
          type="button"
          class={act === "revoke" ? "danger" : ""}
          onClick={() => onAct(act)}
        >
          {text}
        </button>
      ))}
    </>
  );
}

function Settings({ of: key }: { of: KeyAnswer }) {
  const { platform } = useApp();
  const times = [
    ["Made", key.createdAt],
    ["New text", key.rotatedAt],
    ["Old text works until", key.oldKeyWorksUntil],
    ["Revoked", key.revokedAt],
  ] as const;
  const settings = settingLines(key.settings);
  return (
    <section class="card" aria-label="Permissions and limits">
      <header>
        <h2>Permissions and limits</h2>
        <KeyStatus of={key} />
        {key.source === "file" && (
          <span class="quiet">in the configuration file, where it can be changed</span>
        )}
      </header>
      <dl class="settings">
        {times.map(
          ([text, at]) =>
            at && (
              <Line key={text} name={text}>
                {timeText(at, platform.now())}
              </Line>
            ),
        )}
        {settings.map(([name, text]) => (
          <Line key={name} name={name}>
            {text}
          </Line>
        ))}
      </dl>
      {settings.length === 0 && <p class="quiet">The key has no restrictions.</p>}
    </section>
  );
}

const STATUSES: Readonly<
  Record<KeyAnswer["status"], { readonly tone: Tone; readonly text: string }>
> = {
  active: { tone: "good", text: "Active" },
  disabled: { tone: "warn", text: "Disabled" },
  expired: { tone: "warn", text: "Expired" },
  revoked: { tone: "bad", text: "Revoked" },
};

export const KeyStatus = ({
  of: { status, isKept },
}: {
  of: Pick<KeyAnswer, "status" | "isKept">;
}) => (
  <span class="badges">
    <Badge tone={STATUSES[status].tone}>{STATUSES[status].text}</Badge>
    {isKept === false && <Badge tone="warn">Not on the disk yet</Badge>}
  </span>
);

const Line = ({ name, children }: { name: string; children: string }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** Settings with their paths, as in the configuration file. */
function settingLines(settings: object, path = ""): readonly (readonly [string, string])[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const at = path ? `${path}.${name}` : name;
    if (Array.isArray(value)) return [[at, value.join(", ") || "none"] as const];
    if (typeof value === "object" && value !== null) return settingLines(value, at);
    return [[at, typeof value === "number" ? measured(at, value) : String(value)] as const];
  });
}

const UNITS: Readonly<Record<string, string>> = {
  "rate.computeUnits": "units a second",
  "rate.burst": "units",
  "computeUnits.perDay": "units",
  "computeUnits.perMonth": "units",
  concurrentCalls: "calls at once",
  weight: "turns",
  "limits.batch": "calls",
  "limits.upstreamCalls": "calls to nodes",
  "limits.logs.blocks": "blocks",
};

const measured = (path: string, value: number): string =>
  path === "limits.batchResponse"
    ? bytesText(value)
    : `${wholeText(value)} ${UNITS[path] ?? ""}`.trimEnd();

function Use({ name }: { name: string }) {
  const { platform } = useApp();
  const today = dayOf(platform.now());
  const path = `keys/${encodeURIComponent(name)}/usage`;
  const bill = useResource<BillAnswer>(`${path}?rows=none&from=${monthBefore(today)}&to=${today}`);
  const hours = useResource<UsageHoursAnswer>(`${path}/hours`);
  useRefresh(bill);
  useRefresh(hours);
  return (
    <Loaded resource={bill} what="the key's usage">
      {(told) =>
        told.total.calls + told.total.refused === 0 ? (
          <section class="card" aria-label="Usage">
            <Empty title="The key was not used in the last 30 days" />
          </section>
        ) : (
          <Used bill={told} hours={hours.value} />
        )
      }
    </Loaded>
  );
}

function Used({ bill, hours }: { bill: BillAnswer; hours: UsageHoursAnswer | undefined }) {
  const { total, currency, methods } = bill;
  const { rows, leftOut } = topOf(methods, 10);
  const refusals = REFUSALS.filter(({ field }) => total[field] > 0);
  return (
    <>
      <section class="card" aria-label="Usage">
        <header>
          <h2>Usage in the last 30 days</h2>
        </header>
        <Figures
          isWide
          figures={[
            {
              label: "Calls",
              hint: "Calls that were answered and charged.",
              value: wholeText(total.calls),
            },
            {
              label: "Compute units",
              hint: "The compute units that the key was charged, refused calls included.",
              value: wholeText(total.computeUnits),
            },
            {
              label: "Saved",
              hint: "The share of the key's calls for which no node was asked.",
              value: shareText(savedCalls(total), total.calls),
            },
            {
              label: "Errors",
              hint: "Calls that were answered with an error.",
              value: wholeText(total.errors),
            },
            {
              label: "Refused",
              hint: "Calls that the key's scope or limits refused.",
              value: wholeText(total.refused),
              tone: total.refused > 0 ? "warn" : "plain",
            },
            {
              label: "Cost",
              hint: "The cost of these calls at a provider, by the configured prices.",
              value: costText(total.cost, currency),
            },
          ]}
        />
        <div class="charts">
          {hours && <HourBars {...hours} />}
          <DayBars bill={bill} />
        </div>
      </section>
      <section class="card" aria-label="Methods">
        <header>
          <h2>Methods</h2>
        </header>
        <Table
          caption="The key's methods, by compute units"
          columns={[
            { title: "Method", cell: ({ name }) => <code>{name}</code> },
            ...sumColumns(currency),
          ]}
          rows={rows}
          keyOf={({ name }) => name}
        />
        {leftOut > 0 && <p class="note">Not shown: {wholeText(leftOut)} more.</p>}
      </section>
      <section class="card" aria-label="Refused calls">
        <header>
          <h2>Refused calls</h2>
        </header>
        {refusals.length === 0 ? (
          <p class="quiet">No call was refused.</p>
        ) : (
          <Table
            caption="Refused calls, by the setting that refused them"
            columns={[
              { title: "Setting", cell: ({ setting }) => <code>{setting}</code> },
              { title: "Why", cell: ({ text }) => text },
              {
                title: "Calls",
                hint: "The calls that the setting refused in the last 30 days.",
                cell: ({ field }) => wholeText(total[field]),
                isNumber: true,
              },
            ]}
            rows={refusals}
            keyOf={({ setting }) => setting}
          />
        )}
      </section>
    </>
  );
}
