// Settings from the environment, which override the file: `HEADGATE_LISTEN__PORT=8080` is `listen.port`, and
// `HEADGATE_UPSTREAMS_ETH_MAINNET=https://…,wss://…` has the upstreams of eth-mainnet.
import { parseDocument } from "yaml";
import { type JsonSchema, knownSettings, schemaAt } from "./schema.ts";
import type { Environment, Path } from "./setting-names.ts";
import { namesAsMapping } from "./short-forms.ts";
import { isMapping } from "./units.ts";

export type EnvironmentSetting = { readonly variable: string; readonly path: Path };

const PREFIX = "HEADGATE_";
const UPSTREAMS = "HEADGATE_UPSTREAMS_";

/** Whether the environment names a network, so that no file is needed. */
export const namesNetworks = (environment: Environment): boolean =>
  Object.entries(environment).some(
    ([name, value]) =>
      value !== undefined && (name.startsWith(UPSTREAMS) || /^HEADGATE_NETWORKS(__|$)/.test(name)),
  );

/** Adds the settings of the environment to a configuration. @returns Also the path of each such setting. */
export function withEnvironment(
  config: unknown,
  environment: Environment,
): { value: unknown; settings: readonly EnvironmentSetting[] } {
  const settings: EnvironmentSetting[] = [];
  let value = config;
  // Variables are read in the order of their names, so HEADGATE_NETWORKS comes before the settings of one network.
  for (const [variable, text] of Object.entries(environment).sort()) {
    const path = text === undefined ? undefined : pathOf(variable);
    if (path === undefined || text === undefined) continue;
    settings.push({ variable, path });
    value = put(value ?? {}, path, settingOf(text, path));
  }
  return { value, settings };
}

/** The path of a variable's setting; undefined for a variable that sets none. */
function pathOf(variable: string): Path | undefined {
  if (!variable.startsWith(PREFIX)) return undefined;
  if (variable.startsWith(UPSTREAMS))
    return ["networks", networkName(variable.slice(UPSTREAMS.length)), "upstreams"];
  const words = variable.slice(PREFIX.length).split("__");
  const path: PropertyKey[] = [];
  for (const word of words) {
    const known = knownSettings(path);
    const name = known.find(
      (each) => each.toLowerCase() === word.toLowerCase().replaceAll("_", ""),
    );
    if (path.length === 0 && name === undefined) return undefined;
    if (name !== undefined) path.push(name);
    else if (/^\d{1,4}$/.test(word)) path.push(Number(word));
    else path.push(path.at(-1) === "networks" ? networkName(word) : word.toLowerCase());
  }
  return path;
}

const networkName = (word: string): string => word.toLowerCase().replaceAll("_", "-");

/** The value as the file would have it. A text setting needs no quotes, and a list of texts needs only commas. */
function settingOf(text: string, path: Path): unknown {
  const schema = schemaAt(path) ?? {};
  if (isListOfTexts(schema, path) && !/^\s*\[/.test(text))
    return text.split(",").flatMap((each) => each.trim() || []);
  if (schema.type === "string") return text;
  const document = parseDocument(text, { prettyErrors: false, stringKeys: true });
  // A value that is no YAML stays a text, and the schema describes the mistake.
  return document.errors.length > 0 ? text : document.toJS({ maxAliasCount: 0 });
}

const isListOfTexts = ({ type, items }: JsonSchema, path: Path): boolean =>
  (path.length === 1 && path[0] === "networks") ||
  path.at(-1) === "upstreams" ||
  (type === "array" && isMapping(items) && items["type"] !== "object");

/** A copy of the configuration with the value at the path. */
function put(config: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === "number") {
    const list = Array.isArray(config) ? [...config] : [];
    list[step] = put(list[step], rest, value);
    return Array.from(list, (each) => each ?? null);
  }
  const whole = namesAsMapping(config);
  const mapping = isMapping(whole) ? whole : {};
  return { ...mapping, [step]: put(mapping[String(step)], rest, value) };
}
