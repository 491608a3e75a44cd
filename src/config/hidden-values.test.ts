// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withHidden, withRevealed } from "./hidden-values.ts";
import { parseConfig } from "./parse-config.ts";

const FILE = `# try later: https://rpc.example.com/v3/commented-secret
#   and again
listen: { host: 127.0.0.1, port: "\${PORT:-8545}" }   # beside-secret
admin: { token: "admin-secret-token", listen: { port: 8546 } }
keySecret: 'secret-of-all-keys'
state: redis://user:redis-secret@redis:6379
keys:
  - { name: demo, key: "\${DEMO_KEY:-default-secret}" }
  - name: numbers
    key: 123456
    hash: sha256:hash-secret
  - { name: both, key: "\${KEY}" }
timeouts: { call: 10s }
tracing:
  endpoint: https://collector.example.com/secret-path
  headers: { authorization: 12345, host: header-secret }
defaults:
  upstreams: ["alchemy://vendor-secret", "alchemy://\${ALCHEMY}"]
networks:
  eth-mainnet:
    family: evm
    window: { blocks: 100, size: 8GiB }
    upstreams:
      - https://mainnet.example.com/v3/path-secret
      - { url: "wss://user:pass-secret@node.example.com", name: second }
      - url: https://node.example.com/\${KEY}
      - url: |
          https://0123456789abcdef.example.com/block-secret
      - https://example.com/?key=query-secret
      - ipc:///var/run/secret.ipc
`;

const shown = (file: string): string => {
  const found = withHidden(file);
  if (found.kind === "mistakes") throw new Error(found.mistakes.join());
  return found.text;
};

describe("a configuration file as it is shown", () => {
  it("has no secret in it, and everything else", () => {
    const text = shown(FILE);
    expect(text).not.toMatch(/secret(?!:)|123456|12345|0123456789abcdef|user|again/i);
    for (const visible of [
      'host: 127.0.0.1, port: "${PORT:-8545}"',
      "name: demo",
      '{ name: both, key: "${KEY}" }',
      "call: 10s",
      "family: evm",
      "size: 8GiB",
      '"alchemy://${ALCHEMY}"',
      "https://node.example.com/${KEY}",
    ])
      expect(text).toContain(visible);
    expect(text).toMatch(/"https:\/\/mainnet\.example\.com‹hidden \d+›"/);
    expect(text.split("\n")[0]).toBe("# ‹hidden 1›");
  });

  it("is the same file again when it is sent back", () => {
    expect(withRevealed(shown(FILE), FILE)).toEqual({ kind: "text", text: FILE });
  });

  it("keeps what is hidden where the rest is edited", () => {
    const edited = shown(FILE)
      .replace("call: 10s", "call: 20s")
      .replace("# ‹hidden 1›", "# ‹hidden 1›\n# a word of mine")
      .replace(/"(https:\/\/mainnet[^"]*)"/, "'$1'");
    const revealed = withRevealed(edited, FILE);
    expect(revealed).toEqual({
      kind: "text",
      text: FILE.replace("call: 10s", "call: 20s").replace("again", "again\n# a word of mine"),
    });
  });

  it.each([
    ["a visible setting", (text: string) => text.replace("family: evm", 'family: "‹hidden 3›"')],
    ["another host", (text: string) => text.replace("mainnet.example.com‹", "evil.example.com‹")],
    ["a setting of another name", (text: string) => text.replace("token:", "name:")],
    ["a comment", (text: string) => `${text}# ‹hidden 3›\n`],
    ["a name", (text: string) => `${text}‹hidden 3›: 1\n`],
  ])("lets nothing that is hidden be moved to %s", (_, edit) => {
    const revealed = withRevealed(edit(shown(FILE)), FILE);
    expect(revealed).toMatchObject({
      kind: "mistakes",
      mistakes: [expect.stringContaining("a hidden value can be used only in its own place")],
    });
  });

  const SECRET = "s3cretOfAKey";
  const forms = [
    ...[SECRET, `{ service: ${SECRET} }`, `{ processes: ${SECRET} }`, `{ ${SECRET}: 1 }`],
    ...[`[${SECRET}]`, `[[${SECRET}]]`, `[{ "${SECRET}": a }]`, `[{ kee: ${SECRET} }]`],
    ...[`{ a: { host: ${SECRET} } }`, `[{ name: "https://node.example.com/v3/${SECRET}" }]`],
    ...[`!${SECRET}`, `&${SECRET}`, `*${SECRET}`, `@${SECRET}`],
  ];
  const places = [
    ...["keys: @", "kyes: @", "admin: { token: @ }", "admin: { tokens: @ }", "keySecret: @"],
    ...["state: @", "networks: { main: { upstreams: @ } }", "defaults: { upstreams: @ }"],
  ];

  it.each(places.flatMap((place) => forms.map((form) => [place.replace("@", () => form)])))(
    "has no secret in it where one stands in another form: %s",
    (file) => {
      const found = withHidden(file);
      expect(JSON.stringify(found)).not.toContain(SECRET);
      if (found.kind === "text")
        expect(withRevealed(found.text, file)).toEqual({ ...found, text: file });
      expect(JSON.stringify(parseConfig(file, {}))).not.toContain(SECRET);
    },
  );

  it("is hidden where a number stands in the place of keys", () => {
    expect(shown("keys: { service: 123456789 }")).not.toContain("123456789");
  });

  it("has the names of networks and nodes, also in short forms", () => {
    const file =
      "networks: [eth-mainnet]\ncosts: { 'trace_*': 3 }\ntracing: { headers: { x-team: a } }\n";
    expect(shown(file)).toBe(file.replace("x-team: a", 'x-team: "‹hidden 1›"'));
  });

  it("is not shown at all where it is no YAML", () => {
    const file = "keys: [ 'my-secret'\n";
    const found = withHidden(file);
    expect(found.kind).toBe("mistakes");
    expect(JSON.stringify(found)).not.toContain("my-secret");
  });

  it("shows no text that a setting may have, but those that are known to be none", () => {
    const secrets: string[] = [];
    const filled = (
      { properties, additionalProperties, items, anyOf }: Schema,
      path: readonly string[],
    ): unknown => {
      if (properties)
        return Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, filled(each, [...path, name])]),
        );
      if (additionalProperties) return { any: filled(additionalProperties, [...path, "any"]) };
      if (items) return [filled(items, path)];
      if (anyOf?.[0]) return filled(anyOf[0], path);
      const secret = `s3cr3t/${secrets.length}/${path.join("/")}`;
      secrets.push(secret);
      return secret;
    };
    const schema: Schema = JSON.parse(readFileSync("docs/headgate.schema.json", "utf8"));
    const text = shown(JSON.stringify(filled(schema, []), null, 2));
    const told = secrets.filter((secret) => text.includes(secret));
    const settings = new Set(told.map((secret) => secret.split("/").at(-1)));
    expect(secrets.length).toBeGreaterThan(150);
    for (const secret of ["key", "hash", "token", "keySecret", "state", "url", "any", "endpoint"])
      expect(settings).not.toContain(secret);
    expect(settings).not.toContain("upstreams");
  });

  it.each([
    ["values", '["x"]'.repeat(10_001)],
    ["names", Array.from({ length: 6_000 }, (_, at) => `k${at}: v`).join("\n")],
    ["brackets", "[".repeat(20_000)],
    ["aliases", `a: &a 1\nb: [${"*a,".repeat(101)}]`],
    ["variables", `a: "${"${A:-".repeat(1_000)}"`],
  ])("is not read at all with too many %s", (_, file) => {
    const mistakes = [expect.stringMatching(/^the file: has more than \d+ /)];
    expect(withRevealed(file, FILE)).toEqual({ kind: "mistakes", mistakes });
  });

  it("hides whatever stands at a key, and gives it back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (secret, isFlow) => {
        const keys = [{ name: "a", key: `x${secret}` }];
        const file = isFlow
          ? JSON.stringify({ keys })
          : `keys:\n  - name: a\n    key: ${JSON.stringify(`x${secret}`)} # c\n`;
        const found = withHidden(file);
        if (found.kind === "mistakes") return; // YAML does not allow the character
        expect(found.text).toMatch(/key"?: ?"‹hidden 1›"/);
        expect(withRevealed(found.text, file)).toEqual({ kind: "text", text: file });
      }),
    );
  });
});

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
};
