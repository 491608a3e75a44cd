// From the text of a configuration file to the configuration, or to everything that is wrong with it.
import { type Environment, substitute } from "./environment.ts";
import { type Mistake, mistakeLine, mistakesOf, plainWords } from "./mistakes.ts";
import { type Config, configSchema } from "./schema.ts";
import { type Path, pathText } from "./setting-names.ts";
import { locate, readYaml, toValue } from "./yaml-document.ts";

export type ParsedConfig =
  | { kind: "config"; config: Config }
  | { kind: "mistakes"; mistakes: readonly string[] };

/** Reads a configuration. Every mistake is one line, in the order of the file, without secrets. */
export function parseConfig(text: string, environment: Environment): ParsedConfig {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") return yaml;
  const { document } = yaml;
  const { mistakes: unset, substituted } = substitute(document, environment);
  const read = toValue(document);
  if (!read) return { kind: "mistakes", mistakes: ["the file: its aliases expand to too much"] };
  const parsed = configSchema.safeParse(read.value, { error: plainWords });
  if (parsed.success && unset.length === 0) return { kind: "config", config: parsed.data };
  const issues = parsed.error?.issues ?? [];
  const found = mistakesOf(issues, read.value, (path) =>
    substituted.has(locate(document, path).node),
  );
  return {
    kind: "mistakes",
    mistakes: inFileOrder(
      [...unset, ...without(found, unset)],
      (path) => locate(document, path).offset,
    ),
  };
}

/** A setting whose variable is not set is wrong in no other way. */
function without(found: readonly Mistake[], unset: readonly Mistake[]): Mistake[] {
  const paths = new Set(unset.map(({ path }) => pathText(path)));
  return found.filter(({ path }) => !paths.has(pathText(path)));
}

const inFileOrder = (mistakes: readonly Mistake[], offsetOf: (path: Path) => number): string[] =>
  mistakes
    .map((mistake) => ({ mistake, offset: offsetOf(mistake.path) }))
    // What is missing has no place of its own: after what is wrong with the setting around it.
    .sort((a, b) => a.offset - b.offset || a.mistake.path.length - b.mistake.path.length)
    .map(({ mistake }) => mistakeLine(mistake));
