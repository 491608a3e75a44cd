// `headgate methods`: lists all methods; or the methods that a key may call on each network, with reasons for the others.
import {
  type KeyView,
  readRecord,
  recordKey,
  viewOfConfigured,
  viewOfRecord,
} from "../access/keys/key-record.ts";
import { Costs } from "../access/limits/meter.ts";
import { Scope, type ScopeSettings } from "../access/scope/scope.ts";
import type { Config } from "../config/schema.ts";
import { systemClock } from "../lib/clock.ts";
import { matcherOf } from "../lib/pattern.ts";
import {
  type Catalogue,
  catalogueFor,
  declaredMethods,
  forwardedMethods,
} from "../methods/catalogue.ts";
import { methodsMarkdown, openedBy } from "../methods/describe.ts";
import type { Method } from "../methods/method.ts";
import { anyContract } from "../namespaces/read-contracts.ts";
import { CommandFailure, keptStateOf } from "./read-config.ts";
import { table } from "./table.ts";

type Asked = { readonly key: string; readonly network: string | undefined };
type Print = (line: string) => void;

/** Prints the text of docs/METHODS.md. */
export const printAllMethods = (print: Print): void =>
  print(methodsMarkdown(declaredMethods, forwardedMethods));

/** Prints a table for each network, or for one. @throws CommandFailure when there is no such key or network. */
export async function printMethodsOfKey(config: Config, asked: Asked, print: Print): Promise<void> {
  const names = Object.keys(config.networks).filter((name) => name === (asked.network ?? name));
  if (names.length === 0)
    throw new CommandFailure(`--network: there is no network ${asked.network}`, { exitCode: 2 });
  const key = await findKey(config, asked.key);
  if (!key) throw new CommandFailure(`--key: there is no key ${asked.key}`, { exitCode: 2 });
  if (key.status !== "active")
    print(`The key ${asked.key} is ${key.status}: it may call nothing.\n`);
  const costs = new Costs(config.costs);
  for (const name of names) {
    print(`${name}:`);
    for (const line of tableOf(name, config, { key: key.settings, costs })) print(`  ${line}`);
  }
}

type FoundKey = Pick<KeyView, "status"> & { readonly settings: ScopeSettings };

async function findKey(config: Config, name: string): Promise<FoundKey | undefined> {
  const nowMs = systemClock.wallTime();
  const configured = config.keys.find((key) => key.name === name);
  if (configured)
    return { settings: configured, status: viewOfConfigured(configured, nowMs).status };
  const state = await keptStateOf(config);
  if (!state) return undefined;
  try {
    const record = readRecord((await state.get(recordKey(name))) ?? "");
    return record && { settings: record.settings, status: viewOfRecord(record, nowMs).status };
  } finally {
    await state.close();
  }
}

function tableOf(
  network: string,
  { networks }: Config,
  { key, costs }: { key: ScopeSettings; costs: Costs },
): readonly string[] {
  const settings = networks[network];
  if (!settings) return [];
  const scope = new Scope(key);
  const request = { network, origin: undefined, address: () => undefined };
  if (key.networks && scope.forbidsRequest(request) === "networks")
    return ["nothing: the key does not allow this network"];
  const catalogue = catalogueFor({ family: settings.family, ...settings.methods });
  const isDenied = matcherOf(settings.methods.deny);
  const rows = [...catalogue.known]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((method) => {
      const why = whyClosed(method, { catalogue, isDenied }) ?? whyWithheld(method, key, scope);
      return [method.name, method.kind, String(costs.of(method)), why ?? "yes"];
    });
  return table([["method", "kind", "price", "may be called"], ...rows]).split("\n");
}

/** The reason why the network does not serve a method; undefined when it does. */
function whyClosed(
  method: Method,
  { catalogue, isDenied }: { catalogue: Catalogue; isDenied: (name: string) => boolean },
): string | undefined {
  if (catalogue.served.get(method.name)) return undefined;
  const opening = openedBy(method);
  if (opening === "never") return "no: never served";
  if (isDenied(method.name)) return "no: in methods.deny of the network";
  return `no: not in methods.allow of the network (opens by ${opening})`;
}

/** The reason why a key may not call a served method, or only for its contracts; undefined when it may. */
function whyWithheld(method: Method, key: ScopeSettings, scope: Scope): string | undefined {
  const rule = scope.withholds(method);
  if (rule === "methods")
    return method.kind === "node control"
      ? "no: the key's methods do not have the method's full name"
      : "no: not in the key's methods";
  if (rule === "readOnly") return "no: the key is read-only";
  if (!key.contracts || !method.contractsOf) return undefined;
  return method.contractsOf === anyContract
    ? "no: the method may read any contract, and the key is bound to some"
    : "yes, for the key's contracts";
}
