// Makes a call as one of the keys: a method, a form from its schema, and the outcome.
import { useState } from "preact/hooks";
import type { KeyAnswer, TriedAnswer } from "../../src/admin/schemas.ts";
import { Field, Select } from "../components/field.tsx";
import { Badge } from "../components/figure.tsx";
import { SchemaField } from "../components/schema-form.tsx";
import { Screen } from "../components/screen.tsx";
import { Empty, Loaded, Loading, Problem } from "../components/states.tsx";
import { Outcome, Story } from "../components/story.tsx";
import { Text } from "../components/text.tsx";
import type { ApiProblem } from "../lib/api.ts";
import { problemOf, useApp, useLive, useMay, useResource } from "../lib/app.ts";
import { bytesText, countText } from "../lib/format.ts";
import { hrefOf, useRoute } from "../lib/route.ts";
import { costText } from "./bill-figures.ts";
import { answerText, type Described, exampleDraft, methodsOf, paramsOf } from "./try-params.ts";

export function Try() {
  const mayTry = useMay("keys");
  return (
    <Screen
      title="Try"
      about="A call with one of the keys, which is charged as for any other call."
    >
      {mayTry ? (
        <WithKeys />
      ) : (
        <Empty title="Your token is read-only">
          A call needs a token with the role keys or all.
        </Empty>
      )}
    </Screen>
  );
}

function WithKeys() {
  const { status } = useLive();
  const keys = useResource<{ readonly keys: readonly KeyAnswer[] }>("keys");
  if (!status) return <Loading what="networks" />;
  const networks = status.networks.map(({ network }) => network);
  return (
    <Loaded resource={keys} what="keys">
      {({ keys: all }) => {
        const active = all.filter((key) => key.status === "active");
        return active.length === 0 ? (
          <Empty title="There is no active key">
            <a href={hrefOf("keys")}>Make one</a> first.
          </Empty>
        ) : (
          <Chosen keys={active} networks={networks} />
        );
      }}
    </Loaded>
  );
}

const optionsOf = (names: readonly string[]) => names.map((value) => ({ value, text: value }));

/** The outcome of the newest call. */
type Came =
  | { readonly kind: "nothing" }
  | { readonly kind: "waiting" }
  | { readonly kind: "answer"; readonly tried: TriedAnswer }
  | { readonly kind: "problem"; readonly problem: ApiProblem };

type ChosenProps = { readonly keys: readonly KeyAnswer[]; readonly networks: readonly string[] };

function Chosen({ keys, networks }: ChosenProps) {
  const { query } = useRoute();
  const names = keys.map(({ name }) => name);
  const asked = query.get("key") ?? "";
  const [key, setKey] = useState(names.includes(asked) ? asked : (names[0] ?? ""));
  const [network, setNetwork] = useState(query.get("network") ?? networks[0] ?? "");
  const [came, show] = useState<Came>({ kind: "nothing" });
  const path = `methods?${hrefOf("", { network, key }).split("?")[1]}`;
  const described = useResource<Described>(path);
  const settings = keys.find(({ name }) => name === key)?.settings;
  return (
    <div class="split">
      <section class="card form" aria-label="The call">
        <Select label="Key" value={key} onChange={setKey} options={optionsOf(names)} />
        <Select
          label="Network"
          value={network}
          onChange={setNetwork}
          options={optionsOf(networks)}
        />
        <Loaded resource={described} what="methods">
          {(document) => (
            <CallForm
              {...{ network, document, show }}
              isBusy={came.kind === "waiting"}
              name={key}
              isBoundTo={{
                origin: settings?.origins !== undefined,
                address: settings?.addresses !== undefined,
              }}
            />
          )}
        </Loaded>
      </section>
      <section class="card" aria-label="The answer" aria-live="polite">
        <Answer came={came} />
      </section>
    </div>
  );
}

type CallFormProps = {
  readonly network: string;
  /** The name of the key. */
  readonly name: string;
  readonly document: Described;
  readonly isBoundTo: Readonly<Record<"origin" | "address", boolean>>;
  readonly isBusy: boolean;
  readonly show: (came: Came) => void;
};

const FIRST = ["eth_blockNumber", "cfx_epochNumber"];

function CallForm(props: CallFormProps) {
  const { network, name, document, isBoundTo, isBusy, show } = props;
  const { api } = useApp();
  const methods = methodsOf(document);
  const components = document.components.schemas;
  const first = methods.find((each) => FIRST.includes(each.name)) ?? methods[0];
  const [chosen, choose] = useState(first?.name);
  const method = methods.find((each) => each.name === chosen) ?? first;
  const [draft, setDraft] = useState(() => (method ? exampleDraft(method, components) : {}));
  const [from, setFrom] = useState({ origin: "", address: "" });
  const [mistakes, setMistakes] = useState<Readonly<Record<string, string>>>({});
  if (!method) return <Empty title="The key may call no method of this network" />;
  const take = (next: string): void => {
    const found = methods.find((each) => each.name === next);
    choose(next);
    setDraft(found ? exampleDraft(found, components) : {});
    setMistakes({});
  };
  const call = (): void => {
    const read = paramsOf(method, draft, components);
    setMistakes(read.mistakes);
    if (isBusy || Object.keys(read.mistakes).length > 0) return;
    show({ kind: "waiting" });
    const said = Object.entries(from).filter(([, text]) => text.trim() !== "");
    const body = { network, key: name, method: method.name, params: read.params };
    api.ask<TriedAnswer>("POST", "try", { body: { ...body, ...Object.fromEntries(said) } }).then(
      (tried) => show({ kind: "answer", tried }),
      (error: unknown) => show({ kind: "problem", problem: problemOf(error) }),
    );
  };
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        call();
      }}
    >
      <Select
        label="Method"
        value={method.name}
        onChange={take}
        options={optionsOf(methods.map((each) => each.name))}
      />
      <p class="note">
        {method.summary} {countText(method["x-headgate-cost"] ?? 0, "compute unit")}
        {method["x-headgate-kind"] === "write" && "; the call changes the chain"}.
      </p>
      {method.params.map(({ name: param, schema, required }) => (
        <SchemaField
          key={`${method.name} ${param}`}
          {...{ schema, components, draft, mistakes }}
          onDraft={setDraft}
          path={param}
          label={required ? param : `${param} (optional)`}
          isRequired={required}
        />
      ))}
      {(["origin", "address"] as const).map(
        (each) =>
          isBoundTo[each] && (
            <Field
              key={each}
              label={each === "origin" ? "Web origin of the call" : "IP address of the call"}
              value={from[each]}
              onInput={(text) => setFrom({ ...from, [each]: text })}
              note="The key is bound to certain ones: enter the one that the call comes from."
            />
          ),
      )}
      <div class="acts">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {isBusy ? "Calling …" : "Call"}
        </button>
      </div>
    </form>
  );
}

function Answer({ came }: { came: Came }) {
  if (came.kind === "nothing")
    return (
      <Empty title="No call yet">
        The answer is shown here, with its source, its proof and the nodes that were asked.
      </Empty>
    );
  if (came.kind === "waiting") return <Loading what="the answer" />;
  if (came.kind === "problem") return <Problem problem={came.problem} />;
  const { status, answer, isWhole, bytes, story, cost, currency } = came.tried;
  return (
    <div class="form">
      <header class="line">
        <h2>Answer</h2>
        {story ? <Outcome {...story} /> : <Badge tone="warn">Refused before a call was read</Badge>}
        <span class="quiet">
          HTTP {status}
          {cost !== undefined && `, ${costText(cost, currency)} at a provider`}
        </span>
      </header>
      <Text name="The response in JSON">{isWhole ? answerText(answer) : answer}</Text>
      {!isWhole && (
        <p class="note">This is the beginning of the answer, which has {bytesText(bytes)}.</p>
      )}
      {story && <Story call={story} />}
    </div>
  );
}
