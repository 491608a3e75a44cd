// What is known of a method that clients document, whether or not it is declared here. Pure.

/**
 * `read` asks. `write` sends what somebody signed, or leaves something behind for others. `node control` changes the
 * node itself, tells of the machine it runs on, or changes a development chain. `signing` uses the keys that the node
 * holds. `subscription` needs a connection that can be pushed to.
 */
export type MethodKind = "read" | "write" | "node control" | "signing" | "subscription";

export type MethodFamily = "evm" | "conflux";

/**
 * What a method reads of contracts, for keys that are bound to some: nothing, whatever it likes, the account or the
 * recipient of the call in its first parameter, the logs of a filter there, or what a tracer is let do.
 */
export type Reads =
  | "nothing"
  | "anything"
  | "account"
  | "called"
  | "logs"
  | "traced call"
  | "traced transaction";

export type KnownMethod = {
  readonly name: string;
  readonly family: MethodFamily;
  readonly kind: MethodKind;
  /** In compute units; of what is passed on as it is. */
  readonly cost: number;
  readonly reads: Reads;
};

type Words = Partial<Omit<KnownMethod, "name" | "kind">>;

/** Several of one namespace at once. @param names What follows the underscore, separated by spaces. */
const listed =
  (kind: MethodKind) =>
  (namespace: string, names: string, words: Words = {}): readonly KnownMethod[] =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => ({
        name: `${namespace}_${name}`,
        kind,
        family: "evm",
        cost: 3,
        reads: "anything",
        ...words,
      }));

export const reads = listed("read");
export const writes = listed("write");
export const controls = listed("node control");
export const signs = listed("signing");
export const subscribes = listed("subscription");
