// Says in our own words what is no YAML: the parser's messages quote the file, which holds secrets.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import type { YAMLError } from "yaml";

/** What is wrong at the place of this error. */
export function wordsForError({ code, pos: [offset] }: YAMLError, text: string): string {
  const isVariable = text.startsWith("${", offset) || text.startsWith("${", offset - 1);
  return isVariable ? "within { } and [ ] a ${VARIABLE} must be in quotes" : words[code];
}

const words: Record<YAMLError["code"], string> = {
  ALIAS_PROPS: "an alias cannot have an anchor or a tag",
  BAD_ALIAS: "this is no alias; a text that begins with * must be in quotes",
  BAD_COLLECTION_TYPE: "this tag does not fit",
  BAD_DIRECTIVE: "this directive is not known",
  BAD_DQ_ESCAPE: 'this \\ escape is not known; in "…" a backslash is written \\\\',
  BAD_INDENT: "the indentation does not fit, or a bracket is not closed",
  BAD_PROP_ORDER: "anchors and tags stand before the value, on its line",
  BAD_SCALAR_START: "a text that begins with @ or ` or % must be in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a mapping cannot begin here; a text with `: ` in it must be in quotes",
  BLOCK_IN_FLOW: "only { } and [ ] can be used within { } and [ ]",
  DUPLICATE_KEY: "this is given twice",
  IMPOSSIBLE: "this is no YAML",
  KEY_OVER_1024_CHARS: "this name is too long",
  MISSING_CHAR:
    "something is missing here: a closing quote or bracket, a comma, a colon or a space",
  MULTILINE_IMPLICIT_KEY: "a name and its colon must be on one line",
  MULTIPLE_ANCHORS: "a value can have one anchor",
  MULTIPLE_DOCS: "the file must hold one document; another begins here",
  MULTIPLE_TAGS: "a value can have one tag",
  NON_STRING_KEY: "a name must be a plain text",
  RESOURCE_EXHAUSTION: "this is nested too deep",
  TAB_AS_INDENT: "tabs cannot indent; use spaces",
  TAG_RESOLVE_FAILED: "this tag is not known",
  UNEXPECTED_TOKEN: "this cannot stand here; is a quote, a colon or an indentation wrong?",
};
